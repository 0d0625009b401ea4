import { deliveryFilters } from '../../webhooks/view.ts';
import { list } from '../list.ts';
import type { Verbs } from '../verb.ts';
import { deliveryColumns } from '../webhooks/deliveries.ts';

export const deliveries: Verbs = {
  ls: list('GET /webhook/deliveries', {
    summary: 'list deliveries in every state',
    description:
      'Lists deliveries in every state, newest first. What no index finds is looked for from the newest on, page by page, until the limit is reached; Ctrl-C ends that.',
    examples: [
      'svcctl deliveries ls --tenant TX',
      'svcctl deliveries ls --status delivered --limit 1000 --json id,target,finished_at',
      'svcctl deliveries ls --endpoint ep_4fTq9Zx7Kq2LmN0p --code 5xx --from 2026-03-01 --to 2026-03-05',
      'svcctl deliveries ls --type "incident.*" --text "gate 14"',
      'svcctl deliveries ls --id msg_4fTq9Zx7Kq2LmN0p',
    ],
    filters: deliveryFilters,
    limit: { rows: 100 },
    columns: deliveryColumns,
    below: {
      none: 'No deliveries match.',
      one: 'delivery',
      many: 'deliveries',
      next: 'one: svcctl dlq show dlv_…',
    },
  }),
};
