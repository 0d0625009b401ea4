import type { Database } from '../../platform/postgres/database.ts';
import { type Repeated, repeat } from '../../platform/work/repeat.ts';
import { stopTogether } from '../../platform/work/stop.ts';
import { evaluate, type Find } from './evaluate.ts';
import { findNextDue } from './queries.ts';
import { type SendOptions, sendDue } from './send.ts';

const everyMillis = 30_000;

/** Looks every 30 s at what there is to tell, and sends it, until stopped. Several processes share the work. */
export function startNotices(
  db: Database,
  options: SendOptions & { readonly find: Find; readonly historyDays: number },
): Repeated {
  const { log } = options;
  const sending = repeat(
    async (signal) => {
      await sendDue(db, options, signal);
      return Math.max(1000, (await findNextDue(db)) ?? everyMillis);
    },
    { everyMillis, onError: (err) => log.warn({ err }, 'notices could not be sent') },
  );
  const looking = repeat(
    async () => {
      await evaluate(db, options);
      sending.poke();
    },
    { everyMillis, onError: (err) => log.warn({ err }, 'what is wrong could not be looked at') },
  );
  return {
    poke: () => looking.poke(),
    async stop() {
      await stopTogether([looking, sending], log);
    },
  };
}
