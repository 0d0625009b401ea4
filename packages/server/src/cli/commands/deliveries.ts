import { type DeliveryStatus, deliveryStatuses } from '../../webhooks/values.ts';
import { list } from '../list.ts';
import type { Verbs } from '../verb.ts';
import { reachOptions } from '../webhooks/dead-letter-options.ts';
import { deliveryColumns } from '../webhooks/deliveries.ts';

type Options = { status?: DeliveryStatus; tenant?: string; endpoint?: string; incident?: string };

export const deliveries: Verbs = {
  ls: list('GET /webhook/deliveries', {
    summary: 'list deliveries in every state',
    description: 'Lists deliveries in every state, newest first.',
    examples: [
      'svcctl deliveries ls --tenant TX',
      'svcctl deliveries ls --status delivered --limit 1000 --json id,target,finished_at',
      'svcctl deliveries ls --incident inc_4fTq9Zx7Kq2LmN0p',
    ],
    options: [
      ['--status <status>', 'only in this state', deliveryStatuses],
      ...reachOptions,
      ['--incident <id>', 'only of this incident'],
    ],
    limit: { rows: 100 },
    query: ({ status, tenant, endpoint, incident }: Options) => ({
      ...{ status, tenant, endpoint_id: endpoint, incident_id: incident },
    }),
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
