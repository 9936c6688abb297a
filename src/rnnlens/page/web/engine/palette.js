// Every label's group and every group's colour.

export class Palette {
  /** @param {import("./manifest.d.ts").PaletteJson} json @param {Machine} machine */
  constructor(json, machine) {
    this.groups = json.groups;
    this.colours = json.colours;
    this.groupOf = machine.tensors.numbers(json.group_of);
    this.alone = new Set(this.groupOf).size === this.groupOf.length; // whether every label is a group of its own
    this.channels = json.colours.map((colour) => [1, 3, 5].map((k) => parseInt(colour.slice(k, k + 2), 16)));
    this.at = machine.room.take(this.groupOf.length); // four times each label's group, for the kernels
    machine.whenStarted(() => machine.kernels.integers.set(Array.from(this.groupOf, (group) => 4 * group), this.at));
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
