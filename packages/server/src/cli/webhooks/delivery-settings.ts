import { resolve } from 'node:path';
import { InvalidArgumentError } from 'commander';
import type { DeliveryChange, DeliverySettings } from '../../webhooks/contract.ts';
import type { Context } from '../context.ts';
import { type Facts, type Times, whereAny } from '../details.ts';
import { orDefault, usage, wholeNumber } from '../help.ts';
import { fieldsSent } from '../sent-fields.ts';
import type { Given } from '../verb.ts';

/** How an endpoint is sent to, as options. */
export const deliveryOptions = [
  [
    '--timeout <seconds>',
    'what one attempt may take, at most, or default (as the service is set to)',
    orDefault(wholeNumber(1)),
    'timeout_seconds',
  ],
  [
    '--max-in-flight <number>',
    'attempts under way at once, 1 to 64, or default (no bound of its own)',
    orDefault(wholeNumber(1)),
  ],
  [
    '--final-status <list>',
    'answers that are not tried again, as 400,422, or default (410 alone)',
    orDefault(parseStatuses),
    'no_retry_on',
  ],
  [
    '--expires-after <seconds>',
    'how old a delivery may be that is sent, or default (of any age)',
    orDefault(wholeNumber(1)),
    'expires_after_seconds',
  ],
  [
    '--signature <header>',
    'a signature in another form, as "X-Hub-Signature-256: sha256={hex}" ({base64}, {timestamp}, {id}), or default (none)',
  ],
  [
    '--signature-of <template>',
    'with it: what is signed, as "{timestamp}.{body}" (default: {body})',
  ],
  [
    '--signature-secret <text>',
    'with it: the text that its receiver knows as the key, @FILE with it, or default (the bytes of the secret)',
  ],
  [
    '--client-cert <file>',
    'PEM of the certificate by which the receiver knows the service (mTLS), or default (none)',
  ],
  ['--client-key <file>', 'with it: PEM of its private key'],
  [
    '--ca <file>',
    'PEM of the authorities that its receiver is trusted by, or default (the public ones)',
  ],
  [
    '--asymmetric <on|off|new>',
    'whether a key pair (Ed25519) signs as well; new: another one, beside which the old one signs for 24 hours',
    (text: string) => (text === 'new' ? text : parseSwitch(text)),
  ],
] as const;
type DeliveryOptions = Given<typeof deliveryOptions>;

/** The same settings, by the names of the API; undefined when none is given. */
export async function deliveryBody(
  context: Context,
  options: DeliveryOptions,
): Promise<DeliveryChange | undefined> {
  const { timeout, maxInFlight, finalStatus, expiresAfter, asymmetric } = options;
  const plain = { timeout, maxInFlight, finalStatus, expiresAfter, asymmetric };
  return anyOf<DeliveryChange>({
    ...fieldsSent(deliveryOptions, plain),
    signature: await signatureBody(context, options),
    tls: await tlsBody(context, options),
  });
}

/** What is given of an object; undefined when it is nothing. */
function anyOf<T extends object>(members: { [K in keyof T]?: T[K] | undefined }): T | undefined {
  const given = Object.entries(members).filter(([, value]) => value !== undefined);
  return given.length === 0 ? undefined : (Object.fromEntries(given) as T);
}

async function signatureBody(context: Context, options: DeliveryOptions) {
  const { signature, signatureOf: signs, signatureSecret: text } = options;
  if (signature === 'default') return null;
  if (signature === undefined) {
    if (signs === undefined && text === undefined) return undefined;
    throw usage('Name the header as well: --signature "X-Hub-Signature-256: sha256={hex}"');
  }
  const colon = signature.indexOf(':');
  if (colon < 1) throw usage('A signature is written as "Header: value".');
  const secret =
    text === undefined ? undefined : text === 'default' ? null : await textOf(context, text);
  return {
    header: signature.slice(0, colon).trim(),
    value: signature.slice(colon + 1).trim(),
    ...(signs !== undefined && { signs }),
    ...(secret !== undefined && { secret }),
  };
}

async function tlsBody(context: Context, options: DeliveryOptions) {
  const { clientCert, clientKey, ca } = options;
  const read = async (file: string | undefined) =>
    file === 'default' ? null : file && (await textOf(context, `@${file}`));
  const certificate = await read(clientCert);
  const key = certificate === null ? null : await read(clientKey);
  return anyOf<NonNullable<DeliveryChange['tls']>>({ certificate, key, ca: await read(ca) });
}

/** The text itself, or for `@FILE` what the file holds, so that no secret need stand in the shell's history. */
export async function textOf({ io }: Pick<Context, 'io'>, text: string): Promise<string> {
  if (!text.startsWith('@')) return text;
  const { readFile } = await import('node:fs/promises');
  const path = resolve(io.cwd, text.slice(1));
  const read = await readFile(path, 'utf8').catch((error: unknown) => {
    throw usage(`It cannot be read: ${error instanceof Error ? error.message : path}`);
  });
  return read.trim();
}

/** What differs from the defaults in how an endpoint is sent to. */
export function deliveryFacts(delivery: DeliverySettings | null, { at }: Times): Facts {
  const { timeout_seconds, max_in_flight, no_retry_on, expires_after_seconds } = delivery ?? {};
  const { signature, public_key, tls } = delivery ?? {};
  const until = (name: string, shown: { subject: string; expires_at: string } | undefined) =>
    whereAny(name, shown && `${shown.subject}, until ${at(shown.expires_at)}`);
  const told = (name: string, value: number | undefined, unit: string) =>
    whereAny(name, value === undefined ? null : `${value} ${unit}`);
  return [
    ...told('time limit', timeout_seconds, 's an attempt'),
    ...told('in flight', max_in_flight, 'at once, at most'),
    ...whereAny('final answers', no_retry_on?.join(', ')),
    ...told('expires after', expires_after_seconds, 's'),
    ...whereAny(
      'signature',
      signature && `${signature.header}: ${signature.value} of ${signature.signs}`,
    ),
    ...whereAny('public key', public_key),
    ...until('client certificate', tls?.certificate),
    ...until('own CA', tls?.ca),
  ];
}

function parseStatuses(text: string): number[] {
  const parts = text.split(',').map((part) => part.trim());
  if (parts.every((part) => /^4\d\d$/.test(part))) return parts.map(Number);
  throw new InvalidArgumentError('It is not a list of 4xx statuses such as 400,422.');
}

function parseSwitch(text: string): boolean {
  if (text === 'on' || text === 'off') return text === 'on';
  throw new InvalidArgumentError('It is on or off.');
}
