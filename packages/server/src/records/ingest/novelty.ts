/** A sender that repeats records is believed to go on so for at most this many parts. */
const mostDoubted = 64;

/**
 * Guesses whether the next part of a sender holds only new records, from the parts before it. A wrong guess costs a
 * copy that fails, so a sender that repeats records is tried more and more seldom.
 */
export class Novelty {
  #doubt = 0;
  /** How many parts more are not tried. */
  #waits = 0;

  isLikely(): boolean {
    if (this.#waits === 0) return true;
    this.#waits -= 1;
    return false;
  }

  /** Notes whether a part that was likely to be new was. */
  note(wasNew: boolean): void {
    this.#doubt = wasNew ? Math.floor(this.#doubt / 2) : Math.min(mostDoubted, 2 * this.#doubt + 1);
    this.#waits = wasNew ? 0 : this.#doubt;
  }
}

/** The senders that are remembered; of more, those that have not been heard of for longest are forgotten. */
const mostSenders = 1000;

/** Returns a function that gives each sender, by the id of its token, a memory of its own. */
export function createNovelties(): (tokenId: string) => Novelty {
  const novelties = new Map<string, Novelty>();
  return (tokenId) => {
    const novelty = novelties.get(tokenId) ?? new Novelty();
    novelties.delete(tokenId);
    novelties.set(tokenId, novelty);
    const [oldest] = novelties.keys();
    if (novelties.size > mostSenders && oldest !== undefined) novelties.delete(oldest);
    return novelty;
  };
}
