import { bytes, cidrList, integer, oneOf, text, url } from './types.ts';

const kiB = 1024;
const miB = 1024 * kiB;
const giB = 1024 * miB;

/** How webhooks are sent, and how many may wait. */
export const webhookRows = {
  allowTargets: {
    ...cidrList('SVC_ALLOW_TARGETS'),
    help: 'Private networks that webhooks may be sent to, as CIDRs separated by commas.',
    sharedBy: ['api', 'drainer'],
  },
  tenantEndpoints: {
    ...integer('SVC_TENANT_ENDPOINTS', 10_000, 0, 1_000_000),
    help: 'Webhook endpoints that a tenant may have; 0 = any number.',
    sharedBy: ['api'],
  },
  tenantWaiting: {
    ...integer('SVC_TENANT_WAITING', 1_000_000, 0, 1_000_000_000),
    help: 'Deliveries of a tenant that may wait to be delivered. With more, incidents are held back from its endpoints for which most of them wait, which a replay sends later; 0 = any number.',
    sharedBy: ['api'],
  },
  tenantWaitingBytes: {
    ...bytes('SVC_TENANT_WAITING_BYTES', 10 * giB, 0, 1024 * 1024 * giB),
    help: 'The same of the bytes that they send; 0 = any number.',
    sharedBy: ['api'],
  },
  webhookMaxAttempts: {
    ...integer('SVC_WEBHOOK_MAX_ATTEMPTS', 8, 1, 100),
    help: 'Delivery attempts before a webhook is abandoned.',
    sharedBy: ['api'],
  },
  webhookTimeoutSeconds: {
    ...integer('SVC_WEBHOOK_TIMEOUT_SECONDS', 15, 1, 120),
    help: 'One delivery attempt in all, from name look-up to the last byte.',
    sharedBy: ['drainer'],
  },
  eventTypes: {
    ...oneOf('SVC_EVENT_TYPES', ['accept', 'warn', 'refuse'], 'accept'),
    help: 'What becomes of a reported incident whose type is not in the catalogue of event types, or whose data does not fit its schema: accept asks neither, warn says so in the answer, refuse answers 400.',
    sharedBy: ['api'],
  },
  webhookProxy: {
    ...url('SVC_WEBHOOK_PROXY', ['http', 'https']),
    help: 'Proxy of HTTP (CONNECT) through which webhooks go, notices by webhook too, as http://user:password@proxy:3128, or https:// to speak TLS to it; unset = directly. The service looks names up itself, and asks the proxy for addresses that are allowed.',
    secret: true,
  },
  webhookMaxBytes: {
    ...bytes('SVC_WEBHOOK_MAX_BYTES', 256 * kiB, kiB, 16 * miB),
    help: 'One webhook payload, at most.',
    sharedBy: ['api'],
  },
  drainerInFlight: {
    ...integer('SVC_DRAINER_IN_FLIGHT', 512, 1, 10_000),
    help: 'Webhooks that one process sends at once, at most; a tenant has a quarter of them, an endpoint 64 and at most half of its tenant’s.',
  },
} as const;

/** Who is told of what is wrong, and from when on. */
export const noticeRows = {
  smtpUrl: {
    ...url('SVC_SMTP_URL', ['smtp', 'smtps']),
    help: 'Server that takes notices by e-mail, as smtp://user:password@host:587 or smtps://…:465; unset = no e-mail. With a password, smtp:// asks for STARTTLS.',
    secret: true,
  },
  smtpFrom: {
    ...text('SVC_SMTP_FROM', undefined),
    help: 'Sender of these e-mails, such as svcctl@acme.example.',
    sharedBy: ['api'],
  },
  notifyDiskPercent: {
    ...integer('SVC_NOTIFY_DISK_PERCENT', 10, 0, 99),
    help: 'Share of the disk of the data folder, in percent: with less free, it is told as nearly full; 0 = never.',
    sharedBy: ['api'],
  },
  notifyDeadLetters: {
    ...integer('SVC_NOTIFY_DEAD_LETTERS', 1000, 1, 1_000_000_000),
    help: 'Abandoned webhooks of which a notice tells; with fewer, nobody is told.',
    sharedBy: ['api'],
  },
  backupMaxAgeHours: {
    ...integer('SVC_BACKUP_MAX_AGE_HOURS', 48, 0, 100_000),
    help: 'Hours after which the last good backup is told as overdue, and so is older data of which there is none; 0 = never, where something else backs up.',
    sharedBy: ['api'],
  },
} as const;
