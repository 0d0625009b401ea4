import { deliveryFilters } from '../../webhooks/view.ts';
import { list } from '../list.ts';
import type { Verbs } from '../verb.ts';
import { deliveryColumns } from '../webhooks/deliveries.ts';

export const deliveries: Verbs = {
  ls: list('GET /webhook/deliveries', {
    summary: 'list deliveries in every state',
    description: 'Lists deliveries in every state, newest first.',
    examples: [
      'svcctl deliveries ls --tenant TX',
      'svcctl deliveries ls --status delivered --limit 1000 --json id,target,finished_at',
      'svcctl deliveries ls --incident inc_4fTq9Zx7Kq2LmN0p',
    ],
    filters: deliveryFilters,
    limit: { rows: 100 },
    columns: deliveryColumns,
    below: {
      none: 'No deliveries match.',
      one: 'delivery',
      many: 'deliveries',
      more: 'there are older ones',
      next: 'one: svcctl dlq show dlv_…',
    },
  }),
};
