import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { createSecureContext, type SecureContext } from 'node:tls';
import { invalidInput } from '../kernel/errors.ts';
import { formatMicros } from '../kernel/instant.ts';
import type { DeliverySettings, TlsChange } from './delivery-settings.contract.ts';

/** The certificates and the key of an endpoint, as PEM. */
export type TlsKeys = {
  readonly certificate?: string;
  readonly key?: string;
  readonly ca?: string;
};

type Shown = DeliverySettings['tls'];

/** Applies a change, and says what is shown of it. Throws 400 `request_invalid` at a member that cannot be used. */
export function changeTls(
  before: TlsKeys | undefined,
  change: TlsChange | null,
  nowMillis: number,
): { keys: TlsKeys | undefined; shown: Shown } {
  const members = Object.entries({ ...before, ...change }).filter(([, pem]) => pem != null);
  if (change === null || members.length === 0) return { keys: undefined, shown: undefined };
  const keys: TlsKeys = Object.fromEntries(members);
  const { certificate, key, ca } = keys;
  if (certificate === undefined && key !== undefined) throw wrong('certificate', 'is missing');
  if (certificate !== undefined && key === undefined) throw wrong('key', 'is missing');
  const own = certificate === undefined ? [] : readCertificates('certificate', certificate);
  if (key !== undefined && own[0]?.checkPrivateKey(readKey(key)) !== true) {
    throw wrong('key', 'does not belong to the certificate');
  }
  const authorities = ca === undefined ? [] : readCertificates('ca', ca);
  try {
    contextOf(keys);
  } catch (error) {
    throw wrong(
      certificate === undefined ? 'ca' : 'certificate',
      `cannot be used: ${String(error)}`,
    );
  }
  const shown = {
    ...(own.length > 0 && { certificate: describe('certificate', own, nowMillis) }),
    ...(authorities.length > 0 && { ca: describe('ca', authorities, nowMillis) }),
  };
  return { keys, shown };
}

/** What connections to the endpoint are made with. */
export function contextOf({ certificate, key, ca }: TlsKeys): SecureContext {
  return createSecureContext({
    ...(certificate !== undefined && { cert: certificate }),
    ...(key !== undefined && { key }),
    ...(ca !== undefined && { ca }),
  });
}

function readCertificates(member: string, pem: string): X509Certificate[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----/gs) ?? [];
  try {
    if (blocks.length > 0) return blocks.map((block) => new X509Certificate(block));
  } catch {
    // It is told below.
  }
  throw wrong(member, 'is no certificate in PEM');
}

function readKey(pem: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch {
    throw wrong('key', 'is no private key in PEM, or has a passphrase');
  }
}

function describe(member: string, certificates: readonly X509Certificate[], nowMillis: number) {
  const ends = Math.min(...certificates.map(({ validTo }) => Date.parse(validTo)));
  const expires_at = formatMicros(ends * 1000);
  if (ends <= nowMillis) throw wrong(member, `has ended on ${expires_at.slice(0, 10)}`);
  const subject = (certificates[0]?.subject ?? '').replaceAll('\n', ', ');
  return { subject, expires_at };
}

function wrong(member: string, text: string) {
  return invalidInput(`/delivery/tls/${member}`, text);
}
