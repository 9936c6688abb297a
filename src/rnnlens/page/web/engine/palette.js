// Every label's group, every group's colour, and what rectangles fade by.

export const NARROW = 1e-6; // the least room that a base rate leaves

export class Palette {
  /** @param {import("./manifest.d.ts").PaletteJson} json @param {Machine} machine */
  constructor(json, machine) {
    this.groups = json.groups;
    this.colours = json.colours;
    this.groupOf = machine.tensors.numbers(json.group_of);
    this.base = json.base; // how probable each group is by the labels' frequencies, and the entropy of these; null: colours fade by the paper's rule
    this.even = json.groups.map((_, group) => this.groupOf.filter((one) => one === group).length / this.groupOf.length); // and by equally probable labels
    this.alone = new Set(this.groupOf).size === this.groupOf.length; // whether every label is a group of its own
    this.channels = json.colours.map((colour) => [1, 3, 5].map((k) => parseInt(colour.slice(k, k + 2), 16)));
    this.at = machine.room.take(this.groupOf.length); // four times each label's group, for the kernels
    machine.whenStarted(() => machine.kernels.integers.set(Array.from(this.groupOf, (group) => 4 * group), this.at));
  }

  get rule() {
    return /** @type {"excess" | "paper"} */ (this.base ? "excess" : "paper");
  }

  /** The same colours by the paper's rule. @returns {Palette} */
  byPapersRule() {
    return Object.assign(Object.create(Palette.prototype), this, { base: null });
  }

  /**
   * How probable each group is to whoever knows nothing, beside a state of so many bits: by the frequencies; where the
   * state is less decided than these are, the nearer to all labels being equally probable, the less it is.
   * @param {number} entropy
   */
  rates(entropy) {
    const { frequent, bits } = this.base ?? { frequent: this.even, bits: 0 }, most = Math.log2(this.groupOf.length);
    const beyond = Math.min(Math.max((entropy - bits) / Math.max(most - bits, NARROW), 0), 1);
    return frequent.map((rate, group) => rate + beyond * (this.even[group] - rate));
  }

  /** A group's colour, mixed with white in each channel. @param {number} group @param {number} share */
  faded(group, share) {
    const mixed = this.channels[group].map((channel) => rint(share * channel + (1 - share) * 255));
    return `#${mixed.map((channel) => channel.toString(16).padStart(2, "0")).join("")}`;
  }
}

/** The nearest whole number, the even one of two. @param {number} value */
export function rint(value) {
  const floor = Math.floor(value), rest = value - floor;
  return rest === 0.5 ? floor + (floor % 2) : Math.round(value);
}
