import { portalScopes } from '../../access/values.ts';
import { tenantFilter } from '../../kernel/view.ts';
import { call } from '../act.ts';
import type { RouteAnswer } from '../client.ts';
import { columnsOf } from '../columns.ts';
import { formatRelative } from '../format.ts';
import { wholeNumber } from '../help.ts';
import { list } from '../list.ts';
import type { Verbs } from '../verb.ts';

const { word, text, ago } = columnsOf<RouteAnswer<'GET /webhook/portal-links'>['data'][number]>();

const link = call('POST /webhook/portal-links', {
  summary: 'make a link by which somebody of a tenant sees its webhooks',
  description:
    'Makes a link into the portal, where people of a tenant see its endpoints, deliveries and incidents, and nothing else. Prints it, this once, alone on stdout. It opens once, and then lasts in that browser until it ends.',
  argument: ['<tenant>', 'whose webhooks it shows'],
  examples: [
    'svcctl portal link TX',
    'svcctl portal link TX --for jo@tx.example --minutes 15 --read-only',
  ],
  options: [
    ['--for <name>', 'for whom it is: the audit log names it'],
    ['--minutes <count>', 'after which it ends (default: 60)', wholeNumber(1)],
    ['--read-only', 'to look, and to change nothing'],
    ['--json', 'print the whole answer as JSON'],
  ],
  body({ for: subject, minutes = 60, readOnly = false }, _context, tenant) {
    const [read, manage] = portalScopes;
    return { tenant, subject, seconds: minutes * 60, scope: readOnly ? read : manage };
  },
  prints: ({ url }) => url,
  done: (tenant, { id, expires_at: end }, { nowMillis }) =>
    `Made ${id} for ${tenant}. It opens once, and ends ${formatRelative(end, nowMillis)}. It is shown only this once.`,
});

const ls = list('GET /webhook/portal-links', {
  summary: 'list the links into the portal',
  description: 'Lists the links into the portal, newest first; never the links themselves.',
  examples: ['svcctl portal ls', 'svcctl portal ls --tenant TX --json id,subject,state'],
  filters: { tenant: tenantFilter },
  columns: [
    word('ID', 'id'),
    text('TENANT', 'tenant'),
    text('FOR', 'subject'),
    word('STATE', 'state'),
    word('MAY', (row) => (row.scope === 'webhooks:read' ? 'look' : 'change')),
    ago('MADE', 'created_at'),
    ago('OPENED', 'opened_at'),
    ago('ENDS', 'expires_at'),
    text('MADE BY', (row) => row.creator.name),
  ],
  below: {
    none: 'No links. Make one: svcctl portal link TENANT',
    one: 'link',
    next: 'end one: svcctl portal revoke ID',
  },
});

const revoke = call('DELETE /webhook/portal-links/:id', {
  summary: 'end a link into the portal',
  description: 'Ends a link into the portal, and what was opened by it, at once.',
  argument: ['<id>', 'the link’s id, as svcctl portal ls prints it'],
  examples: ['svcctl portal revoke plk_4fTq9Zx7Kq2LmN0p'],
  done: (id) => `Ended ${id}.`,
});

export const portal: Verbs = { link, ls, revoke };
