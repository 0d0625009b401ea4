import { type Static, type TSchema, Type } from 'typebox';
import {
  dayOrInstantSchema,
  exactly,
  fits,
  instantSchema,
  nameSchema,
  newStoreSchema,
  newTenantSchema,
  nullable,
  oneOf,
  optional,
  pageOf,
} from '../platform/http/schemas.contract.ts';
import { deliveryChangeSchema, deliverySettingsSchema } from './delivery-settings.contract.ts';
import { givenOrderSettings, orderSettings } from './order-fields.contract.ts';
import {
  breakerStates,
  disabledReasons,
  endpointHealths,
  endpointTypes,
  failureClasses,
} from './values.ts';

// Ids in filters are bounded but have no pattern: an unknown id finds nothing, whatever its form.
export const idSchema = Type.String({ minLength: 1, maxLength: 200 });
/** The filter of a list by which its rows of endpoints say how they fare. */
export const includeHours = Type.Optional(
  oneOf(
    ['hours'],
    '`hours`: what became of attempts in the last 24 hours of each endpoint, and in the list of endpoints what failed last',
  ),
);

const segmentPattern = '[a-z0-9][a-z0-9_-]*';
export const eventTypePattern = `${segmentPattern}(\\.${segmentPattern})+`;
export const eventTypeSchema = Type.String({
  maxLength: 128,
  pattern: `^${eventTypePattern}$`,
  description: 'a dotted name such as incident.created',
});
/** What lists of deliveries and of incidents are searched for. */
export const searchFilters = {
  type: optional.string({
    minLength: 1,
    maxLength: 128,
    pattern: '^(\\*|[^*]+(\\.\\*)?)$',
    description: 'a type such as incident.created, or all that begin alike: incident.*',
  }),
  failure_class: Type.Optional(oneOf(failureClasses)),
  last_status: optional.string({
    pattern: '^[1-5](xx|[0-9][0-9])$',
    [fits]: 'a status such as 503, or a kind such as 5xx',
    description: 'the last status of HTTP that came, as 503, or all of a kind, as 5xx',
  }),
  id: optional.string({
    minLength: 1,
    maxLength: 200,
    description:
      'of a delivery, an incident, an endpoint or a request, a webhook-id, or the idempotency key of a report',
  }),
  text: optional.string({
    minLength: 1,
    maxLength: 200,
    description:
      'in the payload, as its JSON spells it, or with webhooks:read in an answer that is kept; in any case',
  }),
} as const;
const endOf = (which: string, needs: string) =>
  Type.Optional({
    ...dayOrInstantSchema,
    description: `the ${which} of reports: a date such as 2026-03-05, or a time such as 2026-03-05T14:07:09Z; needs \`${needs}\``,
  });
export const reportedTimes = { from: endOf('first', 'to'), to: endOf('last', 'from') } as const;

/** What a list that is searched tells of all its pages, and of how far this one has looked. */
export function foundPageOf<Row extends TSchema>(row: Row) {
  return Type.Object({
    ...pageOf(row).properties,
    total: nullable(
      Type.Integer({ description: 'rows on all pages, where that is known without reading them' }),
    ),
    searched_to: nullable({
      ...instantSchema,
      description:
        'a page that is not full, although there may be more, has looked at what was made until then; next_cursor reads on',
    }),
  });
}

export const eventTypesSchema = Type.Array(
  Type.String({
    maxLength: 128,
    pattern: `^(\\*|${eventTypePattern}|${segmentPattern}(\\.${segmentPattern})*\\.\\*)$`,
    description: 'a type such as incident.created, "incident.*" or "*"',
  }),
  {
    minItems: 1,
    maxItems: 100,
    uniqueItems: true,
    description: 'what is delivered: types, "incident.*" = all that begin so, "*" = all',
  },
);
export const storesSchema = Type.Array(newStoreSchema, {
  minItems: 1,
  maxItems: 1000,
  uniqueItems: true,
  description: 'only incidents of these stores; null = any store, and none',
});
export const filterSchema = Type.String({
  minLength: 1,
  maxLength: 2000,
  description:
    'what must hold of an incident, as `score >= 0.9 and data.kind in ("a", "b")`: docs/where.md; null = no filter',
});
const maxAttemptsSchema = Type.Integer({
  minimum: 1,
  maximum: 100,
  description: 'attempts before a delivery is abandoned; null = the default of the service, 8',
});
const scheduleSchema = Type.Array(Type.Integer({ minimum: 1, maximum: 604_800 }), {
  minItems: 1,
  maxItems: 100,
  description: 'seconds before attempt 2, 3, …; the last repeats; null = the default schedule',
});
const rateSchema = Type.Integer({
  minimum: 1,
  maximum: 10_000,
  description: 'deliveries a second; null = no limit',
});
const disableAfterSchema = Type.Integer({
  minimum: 1,
  maximum: 30,
  description:
    'days of failures without a success after which the service disables it, told a day before; null = never',
});
const urlSchema = Type.String({ minLength: 1, maxLength: 2000 });
const plainText = {
  pattern: '^[^\\u0000\\ud800-\\udfff]*$',
  [fits]: 'text without U+0000',
} as const;
const descriptionSchema = Type.String({ maxLength: 500, ...plainText });

const hourCountsSchema = (description: string) => Type.Array(Type.Integer(), { description });
/** What became of attempts, hour by hour: one number for each hour, the last for the present one. */
export const deliveryHoursSchema = Type.Object({
  from: { ...instantSchema, description: 'when the first hour begins' },
  delivered: hourCountsSchema('attempts that delivered, in each hour'),
  failed: hourCountsSchema('attempts that failed and are followed by another'),
  abandoned: hourCountsSchema('deliveries given up: by their last attempt, or while they waited'),
});
export type DeliveryHours = Static<typeof deliveryHoursSchema>;
/** With `include=hours`: the last 24 hours of an endpoint. */
export const includedHours = Type.Optional(deliveryHoursSchema);

export const lastErrorProperties = {
  at: instantSchema,
  delivery_id: Type.String(),
  failure_class: nullable(oneOf(failureClasses)),
  status: nullable(Type.Integer()),
  error: nullable(Type.String()),
};

const uid = Type.String({
  minLength: 1,
  maxLength: 200,
  pattern: '^[A-Za-z0-9._-]+$',
  [fits]: 'letters, digits, ".", "_" and "-"',
  description: 'what files call it, one of its tenant’s: letters, digits, ".", "_" and "-"',
});
const labels = Type.Record(
  Type.String({ pattern: '^[A-Za-z0-9._/-]{1,63}$' }),
  Type.String({ maxLength: 200, ...plainText }),
  {
    maxProperties: 20,
    additionalProperties: false,
    description: 'labels of your own, as {"team": "soc"}',
  },
);

/** An endpoint as callers see it. Its secrets are never part of it. */
export const endpointSchema = Type.Object({
  id: Type.String(),
  tenant: Type.String(),
  type: oneOf(endpointTypes, 'pull: its receiver fetches what waits'),
  url: Type.String({
    description: 'in lists, and in the audit log, without its query; `pull:` where it is polled',
  }),
  description: nullable(Type.String()),
  uid: nullable(uid),
  name: nullable(nameSchema),
  labels: Type.Record(Type.String(), Type.String()),
  event_types: Type.Array(Type.String()),
  stores: nullable(Type.Array(Type.String())),
  where: nullable(filterSchema),
  health: oneOf(
    endpointHealths,
    'degraded: more than one in twenty attempts of this hour and the one before failed, or without any the last one did; failing: paused after failures in a row; unpolled: nobody has polled for an hour what waits; gone: it answered 410',
  ),
  enabled: Type.Boolean(),
  disabled_reason: nullable(
    oneOf(
      disabledReasons,
      'gone: the receiver answered 410; failing: it failed for disable_after_days',
    ),
  ),
  disabled_at: nullable(instantSchema),
  disabled_by: nullable(
    Type.String({
      description:
        'the name of the token, or, to who reaches only the webhooks of a tenant, “an operator”; null when it was not an operator',
    }),
  ),
  max_attempts: nullable(maxAttemptsSchema),
  retry_schedule: nullable(scheduleSchema),
  rate_limit: nullable(rateSchema),
  disable_after_days: nullable(disableAfterSchema),
  delivery: nullable(deliverySettingsSchema, 'null: all as the service is set to'),
  ...orderSettings,
  header_names: Type.Array(Type.String(), {
    description: 'headers that go with each request beside ours; their values are never shown',
  }),
  failing_since: nullable({
    ...instantSchema,
    description: 'the first failure since the last success; null: the last attempt succeeded',
  }),
  breaker: Type.Object({
    state: oneOf(
      breakerStates,
      'open: paused after failures in a row; probing: the pause is over, the next row decides',
    ),
    failures_in_row: Type.Integer(),
    paused_until: nullable(instantSchema),
  }),
  throttled_until: nullable({
    ...instantSchema,
    description: 'its receiver takes no more until then (429, or 503 with Retry-After)',
  }),
  backlog: Type.Object(
    {
      count: Type.Integer(),
      is_exact: Type.Boolean({ description: 'false: it is the count or more' }),
      is_discarding: Type.Boolean({
        description: 'it is being discarded; then the endpoint is enabled',
      }),
    },
    { description: 'deliveries that are queued or pending' },
  ),
  held_back: nullable(
    Type.Object({ since: instantSchema, until: nullable(instantSchema) }),
    'since when incidents are held back from it, because too much of its tenant waits, and until when they were (null: they are); null when none were, or a replay of what it missed has sent them',
  ),
  previous_secret_until: nullable(
    Type.String({
      ...instantSchema,
      description: 'until then secrets that were rotated out sign as well',
    }),
  ),
  created_at: instantSchema,
  updated_at: instantSchema,
  warnings: Type.Optional(
    Type.Array(Type.String(), {
      description: 'what is allowed and yet seldom meant; in the answer to a creation or a change',
    }),
  ),
  hours: includedHours,
  last_error: Type.Optional(
    nullable(
      Type.Object(lastErrorProperties),
      'what failed last among its newest attempts; null: none of them, or its health is ok',
    ),
  ),
});

/** The body of `POST /webhook/endpoints`. What is missing gets the default of the service. */
export const newEndpointSchema = exactly({
  tenant: newTenantSchema,
  type: Type.Optional(
    oneOf(endpointTypes, 'push, the default, needs a `url`; pull: GET …/deliveries/poll fetches'),
  ),
  url: Type.Optional(urlSchema),
  event_types: Type.Optional(eventTypesSchema),
  stores: Type.Optional(nullable(storesSchema)),
  where: Type.Optional(nullable(filterSchema)),
  enabled: optional.boolean({ default: true }),
  max_attempts: Type.Optional(maxAttemptsSchema),
  retry_schedule: Type.Optional(scheduleSchema),
  rate_limit: Type.Optional(rateSchema),
  disable_after_days: Type.Optional(disableAfterSchema),
  delivery: Type.Optional(deliveryChangeSchema),
  ...givenOrderSettings,
  description: Type.Optional(descriptionSchema),
  uid: Type.Optional(uid),
  name: Type.Optional(nameSchema),
  labels: Type.Optional(labels),
  headers: Type.Optional(
    Type.Record(Type.String(), Type.String(), {
      description:
        'more headers for each request, as {"Authorization": "Bearer …"}: at most 20, values in printable ASCII. Of Authorization, `Basic user:password` is encoded. They are sealed, and never shown',
    }),
  ),
  secret: optional.string({
    pattern: '^whsec_[A-Za-z0-9+/]+={0,2}$',
    [fits]: 'whsec_ and the base64 of 24–64 bytes',
    maxLength: 100,
    description: 'whsec_ and the base64 of 24–64 bytes, to keep one that receivers know already',
  }),
});

/** The body of `PATCH /webhook/endpoints/:id`. Only what is named changes; null puts a setting back to its default. */
export const endpointChangeSchema = exactly(
  {
    url: Type.Optional(urlSchema),
    event_types: Type.Optional(eventTypesSchema),
    stores: Type.Optional(nullable(storesSchema)),
    where: Type.Optional(nullable(filterSchema)),
    enabled: optional.boolean(),
    max_attempts: Type.Optional(nullable(maxAttemptsSchema)),
    retry_schedule: Type.Optional(nullable(scheduleSchema)),
    rate_limit: Type.Optional(nullable(rateSchema)),
    disable_after_days: Type.Optional(nullable(disableAfterSchema)),
    delivery: Type.Optional(nullable(deliveryChangeSchema, 'null: back to the defaults')),
    ...givenOrderSettings,
    description: Type.Optional(nullable(descriptionSchema)),
    uid: Type.Optional(nullable(uid)),
    name: Type.Optional(nullable(nameSchema)),
    labels: Type.Optional(labels),
    headers: Type.Optional(
      nullable(
        Type.Record(Type.String(), nullable(Type.String()), {
          description:
            'headers to set; null takes one away, and null instead of the object all. Others stay, unless the URL leads to another scheme, host or port: then only those named here are sent there',
        }),
      ),
    ),
  },
  { minProperties: 1 },
);
