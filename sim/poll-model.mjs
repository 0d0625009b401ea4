/** What an endpoint that is polled has handed out, and what of that was acknowledged. */
export class PollModel {
  /** The cursors that were answered, the newest last. @type {string[]} */
  cursors = [];
  /** What each of them acknowledges. @type {Map<string, Set<string>>} */
  #covered = new Map();
  /** Deliveries of which a poll was sent that acknowledges them. @type {Set<string>} */
  #sent = new Set();
  /** Those of which such a poll was answered. @type {Set<string>} */
  #acknowledged = new Set();
  /** The webhook-id and the body under which each came first. @type {Map<string, string>} */
  #seen = new Map();

  /** A poll is sent with this cursor, or with none. */
  begin(after) {
    const covered = this.#covered.get(after) ?? new Set();
    for (const id of covered) this.#sent.add(id);
    return { after, covered, acknowledged: new Set([...this.#acknowledged, ...covered]) };
  }

  /**
   * It was answered. `due` are deliveries that waited before it was sent; null when the answer was full, and may have left
   * some for the next. Answers what must not be.
   */
  end({ after, covered, acknowledged }, { data, next_cursor: cursor }, due) {
    for (const id of covered) this.#acknowledged.add(id);
    const ids = new Set(data.map((row) => row.id));
    const faults = [];
    if (ids.size < data.length) faults.push('one poll handed out a delivery twice');
    if (data.length === 0 && cursor !== (after ?? null))
      faults.push(`a poll without deliveries moved the cursor from ${after} to ${cursor}`);
    for (const { id, headers, body } of data) {
      const said = `${headers['webhook-id']} ${body}`;
      if (acknowledged.has(id)) faults.push(`${id} was acknowledged, and is handed out again`);
      if ((this.#seen.get(id) ?? said) !== said) faults.push(`${id} was handed out differently`);
      this.#seen.set(id, said);
    }
    for (const id of due ?? [])
      if (!ids.has(id) && !this.#sent.has(id)) faults.push(`${id} waits, and was not handed out`);
    if (cursor === null) return faults;
    const known = this.#covered.get(cursor) ?? new Set();
    this.#covered.set(cursor, new Set([...known, ...covered, ...ids]));
    this.cursors.push(cursor);
    return faults;
  }

  /** Judges a delivery at rest, when all that waited was fetched. */
  judge({ id, mayGo }, status) {
    if (status === 'delivered' && !this.#sent.has(id))
      return [`delivery ${id} is said to be delivered, and nobody acknowledged it`];
    if (status !== 'delivered' && !mayGo)
      return [`delivery ${id} is ${status}, though all that waited was fetched and acknowledged`];
    return [];
  }
}
