import { numberOf } from '../kernel/values.ts';
import type { Check, ToldCheck } from './check.ts';

/** What waits for the people who hold the keys. */
export const accessChecks: readonly (Check | ToldCheck)[] = [
  {
    name: 'approvals_waiting',
    row: 'troubles',
    severity: 'warning',
    // It ends by itself after a day.
    holdSeconds: 0,
    isRepeated: false,
    look: async ({ waitingApprovals }) =>
      (await waitingApprovals()).map(({ id, says, asker, tenant, since }) => ({
        text: `somebody else than ${asker} must confirm it: ${says.replace(/[.]$/, '')}`,
        ...{ id, tenant, since },
      })),
    many: (count) => `${numberOf(count, 'request')} wait for somebody else to confirm them`,
    well: 'nothing waits for somebody else to confirm it',
    remedy:
      'Nothing was done yet. Look at what it does, and confirm or reject it within 24 hours; who asked for it cannot confirm it.',
    command: (id) =>
      id === undefined ? 'svcctl approvals ls --state waiting' : `svcctl approvals show ${id}`,
    place: (id) => `#/access?view=approvals${id === undefined ? '' : `&panel=approval/${id}`}`,
  },
  {
    name: 'tokens',
    severity: 'warning',
    look: async ({ unusedTokens }) =>
      (await unusedTokens()).map(({ id, name }) => ({
        text: `nobody has used the token "${name}" for 90 days`,
        id,
      })),
    well: 'every token was used within 90 days',
    remedy: 'Whoever finds a token that is forgotten may use it. Revoke it, if nobody needs it.',
    command: (id) =>
      id === undefined ? 'svcctl tokens ls --unused-days 90' : `svcctl tokens revoke ${id}`,
  },
];
