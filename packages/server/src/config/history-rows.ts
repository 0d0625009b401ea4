import { integer, oneOf, text, url } from './types.ts';

/** How long what has ended stays, and where the audit log is copied. */
export const historyRows = {
  deliveryDays: {
    ...integer('SVC_DELIVERY_DAYS', 30, 1, 3650),
    help: 'Days that delivered webhooks stay in the history.',
    sharedBy: ['api', 'drainer'],
  },
  incidentDays: {
    ...integer('SVC_INCIDENT_DAYS', 90, 0, 36_500),
    help: 'Days that the payload of an incident and the answers of its receivers are kept after its last delivery ended, also as a dead letter, which cannot be retried from then on; 0 = as long as the deliveries.',
    sharedBy: ['drainer'],
  },
  abandonedDays: {
    ...integer('SVC_ABANDONED_DAYS', 0, 0, 3650),
    help: 'Days after which abandoned webhooks are purged by themselves, which a notice tells the day before; 0 = never.',
    sharedBy: ['api'],
  },
  historyDays: {
    ...integer('SVC_HISTORY_DAYS', 400, 0, 36_500),
    help: 'Days that what has ended stays in the journal of moves and the lists of runs, verifications and bulk retries; 0 = for ever.',
    sharedBy: ['drainer', 'retention'],
  },
  auditDays: {
    ...integer('SVC_AUDIT_DAYS', 0, 0, 36_500),
    help: 'Days that entries stay in the audit log; 0 = for ever. What is yet to be sealed or copied stays.',
    sharedBy: ['retention'],
  },
  auditReads: {
    ...oneOf('SVC_AUDIT_READS', ['off', 'on'], 'off'),
    help: 'on: the audit log also tells which slices of records people read, in the console and with tokens that they made; pages of one slice are one entry in ten minutes and process.',
    sharedBy: ['api'],
  },
  auditCopyUrl: {
    ...url('SVC_AUDIT_COPY_URL', ['file', 's3']),
    help: 'Where the audit log is copied as it grows: file:///folder or s3://bucket/prefix?endpoint=…&region=…, beyond the reach of who can write to the database; unset = nowhere.',
    sharedBy: ['api'],
  },
  auditShipUrl: {
    ...url('SVC_AUDIT_SHIP_URL', ['https', 'http', 'syslog+tls', 'syslog+tcp']),
    help: 'Who collects the audit log as it grows: https://… gets signed NDJSON, syslog+tls://host:6514 messages of syslog; http:// and syslog+tcp:// only inside SVC_ALLOW_TARGETS. Unset = nobody.',
    secret: true,
  },
  auditShipSecret: {
    ...text('SVC_AUDIT_SHIP_SECRET', undefined),
    help: 'The secret that requests to https:// are signed with, as webhooks are: whsec_ and base64.',
    secret: true,
  },
} as const;
