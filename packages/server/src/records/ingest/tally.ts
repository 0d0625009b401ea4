import { type Actor, mayTouchTenant } from '../../kernel/actor.ts';
import { hiddenNameRule } from '../../kernel/names.ts';
import type { IngestAnswer, rejectCodes } from '../contract.ts';
import type { Part } from './part.ts';
import type { IncomingRecord, RecordReading } from './record-reader.ts';
import type { PartOutcome } from './store-part.ts';

const listed = 1000;

/** What became of the records of a request. It holds at most twice as many rejected records as the answer lists. */
export class Tally {
  readonly #actor: Actor;
  #accepted = 0;
  #duplicates = 0;
  #rejectedCount = 0;
  #rejected: IngestAnswer['rejected'] = [];

  constructor(actor: Actor) {
    this.#actor = actor;
  }

  /** Puts a record into the part or rejects it. Returns it if it could be read, even if its tenant is refused. */
  take(part: Part, index: number, { record, fault }: RecordReading): IncomingRecord | null {
    if (fault !== null) this.reject(index, fault.code, fault.message);
    else if (mayTouchTenant(this.#actor, record.tenant)) part.add(index, record);
    else
      this.reject(index, 'tenant_not_allowed', 'this token may not write records of this tenant');
    return record;
  }

  reject(index: number, code: keyof typeof rejectCodes, message: string): void {
    this.#rejectedCount += 1;
    this.#rejected.push({ index, code, message });
    // The parts end in any order, so the first ones by index are kept.
    if (this.#rejected.length >= 2 * listed) this.#rejected = this.#first();
  }

  add(part: Part, { duplicates, conflicts, hidden = [] }: PartOutcome): void {
    this.#accepted += part.count - duplicates.length - conflicts.length - hidden.length;
    this.#duplicates += duplicates.length;
    for (const ordinal of conflicts) {
      const index = part.rows[ordinal]?.index ?? -1;
      this.reject(index, 'conflict', 'a record with this identity is stored with other content');
    }
    for (const ordinal of hidden) {
      const index = part.rows[ordinal]?.index ?? -1;
      this.reject(index, 'field_invalid', `tenant or store: ${hiddenNameRule}`);
    }
  }

  answer(): IngestAnswer {
    return {
      accepted: this.#accepted,
      duplicates: this.#duplicates,
      rejected: this.#first(),
      rejected_count: this.#rejectedCount,
    };
  }

  #first(): IngestAnswer['rejected'] {
    return this.#rejected.sort((a, b) => a.index - b.index).slice(0, listed);
  }
}
