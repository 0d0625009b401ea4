import type { AddressRule } from './address.ts';

/** What is wrong with the addresses of a host. */
export type Objection = {
  /** blocked: a special address outside the allow list; plain: http to a public one. */
  readonly kind: 'blocked' | 'plain';
  /** Names the address: whoever reads it gave the host. */
  readonly text: string;
};

/**
 * Judges all addresses of a host: one that is not allowed condemns the others, because which of them
 * is connected to is up to chance. http needs every one inside the allow list.
 */
export function findObjection(
  rule: AddressRule,
  host: { protocol: string; hostname: string; addresses: readonly string[] },
): Objection | null {
  const verdicts = host.addresses.map((address) => ({ address, verdict: rule(address) }));
  for (const { address, verdict } of verdicts) {
    if (verdict.kind === 'special') {
      const text = `${lead(host.hostname, address)} is not a public address (${verdict.range})`;
      return { kind: 'blocked', text: `${text} and not inside SVC_ALLOW_TARGETS` };
    }
  }
  if (host.protocol === 'https:') return null;
  const open = verdicts.find(({ verdict }) => verdict.kind !== 'listed');
  if (open === undefined) return null;
  const text = `${lead(host.hostname, open.address)} is not inside SVC_ALLOW_TARGETS`;
  return { kind: 'plain', text: `${text}, and only targets inside it may use http` };
}

function lead(hostname: string, address: string): string {
  const isLiteral = hostname.replace(/^\[|\]$/g, '') === address;
  return isLiteral ? address : `${hostname} leads to ${address}, which`;
}
