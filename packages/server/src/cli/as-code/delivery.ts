import type { DeliverySettings } from '../../webhooks/delivery-settings.contract.ts';

/** A row of a file, or an object in it. */
type Row = Readonly<Record<string, unknown>>;

/**
 * How an endpoint is sent to, as files have it: as the API takes it, with variables in the place of what is never shown.
 * `variableOf` names them.
 */
export function deliveryOf(
  delivery: DeliverySettings | null,
  variableOf: (name: string) => string,
): Row | null {
  if (delivery === null) return null;
  const { signature, tls, public_key: publicKey, previous_key_until: _until, ...plain } = delivery;
  const pems = tls && [
    ...(tls.certificate ? ['certificate', 'key'] : []),
    ...(tls.ca ? ['ca'] : []),
  ];
  return {
    ...plain,
    ...(signature && { signature: signatureOf(signature, variableOf('signature_secret')) }),
    ...(pems && { tls: Object.fromEntries(pems.map((name) => [name, variableOf(`tls_${name}`)])) }),
    ...(publicKey !== undefined && { asymmetric: true }),
  };
}

function signatureOf(
  { has_own_secret: hasOwn, ...signature }: NonNullable<DeliverySettings['signature']>,
  variable: string,
): Row {
  return { ...signature, ...(hasOwn && { secret: variable }) };
}

const rowOf = (value: unknown) =>
  typeof value === 'object' && value !== null ? (value as Row) : {};
const set = (fields: Row) => Object.entries(fields).filter(([, value]) => value != null);

/** What of it is compared: of secrets and certificates whether they are there. */
export function comparedDelivery(delivery: unknown): unknown {
  if (typeof delivery !== 'object' || delivery === null) return delivery;
  const { signature, tls, asymmetric, ...plain } = delivery as Row;
  const signed = rowOf(signature);
  const secured = set(rowOf(tls)).map(([name]) => name);
  const compared = {
    ...Object.fromEntries(set(plain)),
    ...(signature != null && {
      signature: { signs: '{body}', ...signed, secret: signed.secret != null },
    }),
    ...(secured.length > 0 && { tls: secured }),
    ...(asymmetric === true && { asymmetric }),
  };
  return Object.keys(compared).length === 0 ? null : compared;
}

/** The change that leaves of what was before only what is wanted. */
export function changedDelivery(before: unknown, wanted: unknown): unknown {
  if (typeof wanted !== 'object' || wanted === null) return wanted;
  const nulls = (row: unknown) => Object.keys(rowOf(row)).map((name) => [name, null] as const);
  const { signature, tls } = wanted as Row;
  return {
    ...Object.fromEntries(nulls(before)),
    ...wanted,
    // A secret that is left out would stay.
    ...(signature != null && { signature: { secret: null, ...rowOf(signature) } }),
    ...(tls != null && { tls: { ...Object.fromEntries(nulls(rowOf(before).tls)), ...rowOf(tls) } }),
  };
}

/** The members that must not stand in a file. */
export function secretsOf(delivery: unknown): unknown[] {
  const { signature, tls } = rowOf(delivery);
  return [rowOf(signature).secret, rowOf(tls).key].filter((value) => value != null);
}

/** Replaces secrets and certificates by what they refer to. */
export async function filledDelivery(
  delivery: unknown,
  fill: (value: unknown) => Promise<unknown>,
): Promise<unknown> {
  const { signature, tls } = rowOf(delivery);
  if (signature == null && tls == null) return delivery;
  const filled = async (row: unknown, names: readonly string[]) =>
    Object.fromEntries(
      await Promise.all(
        Object.entries(rowOf(row)).map(async ([name, value]) => [
          name,
          names.includes(name) ? await fill(value) : value,
        ]),
      ),
    );
  return {
    ...rowOf(delivery),
    ...(signature != null && { signature: await filled(signature, ['secret']) }),
    ...(tls != null && { tls: await filled(tls, ['certificate', 'key', 'ca']) }),
  };
}
