// Undo and redo. Every step is a view with an address: where the page owns its address the browser's own history keeps
// them, so that back and forward are undo and redo; elsewhere, in a notebook or a frame without an address, a list does.

const PAUSE = 250; // ms: browsers refuse an address that changes with every key

export class Steps {
  /**
   * @param {boolean} owns whether the address is the page's
   * @param {{go: (view: View) => void, changed: () => void}} on `go` shows a view of the list
   */
  constructor(owns, on) {
    this.owns = owns;
    this.on = on;
    this.at = this.last = owns ? stepOf(history.state) ?? 0 : 0;
    /** @type {string | null} */ this.address = null; // as it was last read or written
    /** @type {View | null} */ this.view = null; // which has it
    /** @type {{view: View, address: string}[]} */ this.kept = []; // the steps, where the browser does not keep them
    /** @type {(() => void) | null} */ this.pending = null;
    this.timer = 0;
  }

  canUndo() {
    return this.at > 0;
  }

  canRedo() {
    return this.at < this.last;
  }

  /** Take in where the page is, as it begins or after the browser went there. @param {View} view @param {string} address */
  arrived(view, address) {
    clearTimeout(this.timer);
    this.pending = null; // which was of the step that the browser has left
    const at = this.owns ? stepOf(history.state) : this.at;
    // What has no number was typed into the address bar, which is a step, too; but for the first.
    this.at = at ?? (this.view ? this.at + 1 : this.at);
    this.last = at === null ? this.at : Math.max(this.last, this.at);
    if (at === null || !this.owns) this.visit(view, address, false);
    this.view = view;
    this.address = address;
    this.on.changed();
  }

  /** Keep a view: as a step of its own, or, a moment later, in place of the one it came from. @param {View} view @param {string} address @param {boolean} step */
  write(view, address, step) {
    clearTimeout(this.timer);
    if (step) {
      this.flush();
      if (address !== this.address) this.visit(view, address, true);
      return;
    }
    this.pending = () => this.visit(view, address, false);
    this.timer = setTimeout(() => this.flush(), PAUSE);
  }

  /** Write what is still to be written. */
  flush() {
    clearTimeout(this.timer);
    const { pending } = this;
    this.pending = null;
    pending?.();
  }

  /** @param {View} view @param {string} address @param {boolean} step */
  visit(view, address, step) {
    const at = this.at + (step ? 1 : 0);
    if (this.owns) {
      try {
        history[step ? "pushState" : "replaceState"]({ step: at }, "", address || location.pathname + location.search);
      } catch {
        // A frame may have no address, and some browsers refuse one that changes often: then a list keeps them.
        this.owns = false;
        this.kept = Array(this.at + 1).fill({ view: this.view ?? view, address: this.address ?? address });
      }
    }
    if (step) this.kept.length = Math.min(this.kept.length, at);
    if (!this.owns) this.kept[at] = { view, address };
    this.at = at;
    this.last = step ? at : Math.max(this.last, at);
    this.view = view;
    this.address = address;
    this.on.changed();
  }

  /** Go one step back, or forward; nothing happens where there is none. @param {1 | -1} by */
  go(by) {
    this.flush();
    if (by < 0 ? !this.canUndo() : !this.canRedo()) return;
    this.at += by;
    if (this.owns) history.go(by);
    else {
      const { view, address } = this.kept[this.at];
      this.view = view;
      this.address = address;
      this.on.go(view);
    }
    this.on.changed();
  }
}

/** Put another address into the bar before the page has begun. @param {string} address */
export function setAddress(address) {
  try {
    history.replaceState(history.state, "", address || location.pathname + location.search);
  } catch {
    // A frame may have no address; the page is the same.
  }
}

/** The number of a step that the browser kept. @param {unknown} state @returns {number | null} */
function stepOf(state) {
  const step = typeof state === "object" && state !== null && "step" in state ? state.step : null;
  return typeof step === "number" ? step : null;
}
