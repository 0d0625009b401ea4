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
        id,
        tenant,
        since,
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
    name: 'exports_large',
    row: 'troubles',
    severity: 'warning',
    // It ends by itself when a day has gone by.
    holdSeconds: 0,
    isRepeated: false,
    look: async ({ largeExports }) =>
      (await largeExports()).map(({ id, name, rows, exports, tenant, since }) => ({
        text: `"${name}" has exported ${numberOf(rows, 'record')} within 24 hours, in ${numberOf(exports, 'file')}, most of them of ${tenant}`,
        id,
        tenant,
        since,
      })),
    many: (count) => `${numberOf(count, 'token')} or people have exported much within 24 hours`,
    well: 'nobody has exported more than SVC_EXPORT_TELL_ROWS within 24 hours, where that is set',
    remedy:
      'Ask whoever has the token whether it was they. The audit log has each export with its slice and where it was asked from. Revoke a token that was found by others: svcctl tokens revoke ID.',
    command: (id) => `svcctl audit ls --action export.${id === undefined ? '' : ` --actor ${id}`}`,
    place: (id) => `#/access?view=audit&action=export.${id === undefined ? '' : `&actor=${id}`}`,
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
