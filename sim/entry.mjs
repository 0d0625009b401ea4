/**
 * @typedef {import('./values.mjs').Content} Content one record as it was sent, known by its digest
 * @typedef {bigint | typeof absent} Value what is stored under an identity: the digest of a content, or nothing
 */
export const absent = 'absent';

/** What most records may be before they are sent, and once they are erased. @type {readonly Value[]} */
const gone = Object.freeze([absent]);
const none = Object.freeze([]);

/**
 * All that may be stored under one identity. There are many of them, and most have one content and one value: a list is
 * small, and never changed, so that others may share it.
 */
export class Entry {
  /** @type {readonly Content[]} each once */
  contents;
  /** @type {readonly Value[]} */
  possible = gone;
  /** What is being written, or was lost: as often as there are writes of it. @type {readonly bigint[]} */
  open = none;

  constructor(content, now) {
    this.contents = [content];
    this.touchedAt = now;
    this.writtenAt = now;
  }

  /** Its first content, whose identity all of them have. */
  get content() {
    return this.contents[0];
  }

  contentOf(digest) {
    return this.contents.find((content) => content.digest === digest);
  }

  begin(content) {
    const { digest } = content;
    if (this.contentOf(digest) === undefined) this.contents = [...this.contents, content];
    this.open = [...this.open, digest];
    if (this.mayBe(absent)) this.allow(digest);
  }

  end({ digest }) {
    const ended = this.open.indexOf(digest);
    const others = this.open.filter((_, at) => at !== ended);
    this.open = others.length > 0 ? others : none;
  }

  isOpen(digest) {
    return this.open.includes(digest);
  }

  /** @param {Value} value */
  mayBe(value) {
    return this.possible.includes(value);
  }

  /** @param {Value} value */
  allow(value) {
    if (!this.mayBe(value)) this.possible = [...this.possible, value];
  }

  /** The same at rest, which may be anything that was sent if it has changed since then. */
  copy({ since }) {
    const copied = new Entry(this.content, this.touchedAt);
    copied.contents = this.contents;
    copied.writtenAt = this.writtenAt;
    const isSettled = this.touchedAt <= since;
    copied.possible = isSettled
      ? this.possible
      : [absent, ...this.contents.map(({ digest }) => digest)];
    return copied;
  }

  /** All is at rest: what was lost is at work no more. */
  rest() {
    this.open = none;
  }

  /** What it may be once it is erased: nothing, or what is being written meanwhile. @returns {readonly Value[]} */
  afterErasure() {
    return this.open.length === 0 ? gone : [absent, ...new Set(this.open)];
  }
}
