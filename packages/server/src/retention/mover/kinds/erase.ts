import { forgetRequest, queueScrub } from '../../erase/queries.ts';
import { fromJournal } from '../../erase/scope.ts';
import { scrub } from '../../erase/scrub.ts';
import type { KindSteps } from '../kinds.ts';
import { queueRemovals } from '../queries.ts';
import { eraseSteps } from './erase-steps.ts';

const steps = eraseSteps(fromJournal);

/** What is erased must be gone soon: readers that are longer under way read on by what they hold open. */
const maxGraceSeconds = 60;

/** Records leave for good because someone asked for it. */
export const eraseKind: KindSteps = {
  copy: steps.copy,

  async switch(connection, switching) {
    const { context, work } = switching;
    // The first to queue an object decides how long it is kept.
    await queueRemovals(connection, work.move, {
      keys: work.in.map(({ object_key }) => object_key),
      graceSeconds: Math.min(maxGraceSeconds, context.graceSeconds),
    });
    const gone = await steps.switch(connection, switching);
    await queueScrub(connection, work.move, gone);
    await forgetRequest(connection, work.move);
    return gone;
  },

  cleanUp: (context, { move, signal }) => scrub(context, move, signal),

  refuse: async () => null,
};
