import type { AccessToken, AuditEntry, NotifyTarget } from '../api/types.ts';
import {
  dayMillis,
  includesScope,
  noticeTexts,
  type Preset,
  presets,
  type Scope,
  type SendState,
  type Severity,
} from '../api/values.ts';

/** The preset that has exactly these scopes; undefined when none has. */
export function presetOf(scopes: readonly Scope[]): Preset | undefined {
  const names = Object.keys(presets) as Preset[];
  const text = (all: readonly Scope[]) => [...all].sort().join(' ');
  return names.find((name) => text(presets[name]) === text(scopes));
}

/** What names an entry of the audit log in the console. Whoever is limited to tenants is told no places. */
export function entryKeyOf({ id, place }: Pick<AuditEntry, 'id' | 'place'>): string {
  return place === null ? `id ${id}` : String(place);
}

/** What a token may do: its preset, if it has one, and its scopes. */
export function scopesText(scopes: readonly Scope[]): string {
  const preset = presetOf(scopes);
  if (preset === 'admin') return 'admin: everything';
  return [preset, scopes.join(', ')].filter(Boolean).join(': ');
}

const staleMillis = 90 * dayMillis;

/** Whether a token that holds was neither used nor made within 90 days: svcctl doctor names the same. */
export function isStale(
  { created_at, last_used_at, expires_at }: AccessToken,
  nowMillis: number,
): boolean {
  const isExpired = expires_at !== null && Date.parse(expires_at) <= nowMillis;
  return !isExpired && Date.parse(last_used_at ?? created_at) < nowMillis - staleMillis;
}

/** The tenants of a token, or its stores; `all` when it is not limited. */
export function tenantsText({ tenants, stores }: Pick<AccessToken, 'tenants' | 'stores'>): string {
  return (stores ?? tenants)?.join(', ') ?? 'all';
}

/** The tokens in the order of a tree, each above those that it made. `depth` is 0 where its maker is not there. */
export function asTree<T extends Pick<AccessToken, 'id' | 'creator'>>(
  tokens: readonly T[],
): { token: T; depth: number }[] {
  const ids = new Set(tokens.map(({ id }) => id));
  const below = new Map<string | null, T[]>();
  for (const token of tokens) {
    const maker = token.creator !== null && ids.has(token.creator.id) ? token.creator.id : null;
    below.set(maker, [...(below.get(maker) ?? []), token]);
  }
  const walk = (maker: string | null, depth: number): { token: T; depth: number }[] =>
    (below.get(maker) ?? []).flatMap((token) => [{ token, depth }, ...walk(token.id, depth + 1)]);
  return walk(null, 0);
}

/** The tokens that are revoked together with this one: those that it made, and so on, but below an admin without limits. */
export function revokedWith(
  token: AccessToken,
  tokens: readonly AccessToken[],
): readonly AccessToken[] {
  const { tenants, expires_at: expiry, scopes } = token;
  if (tenants === null && expiry === null && scopes.includes('admin')) return [];
  const made = tokens.filter(({ creator }) => creator?.id === token.id);
  return made.flatMap((child) => [child, ...revokedWith(child, tokens)]);
}

/**
 * Whether none of the tokens can manage those of all tenants any more once these are revoked, of which one can. What a person
 * made who was removed since is still listed, but counts no more.
 */
export function leavesNoManager(
  gone: readonly AccessToken[],
  tokens: readonly AccessToken[],
  nowMillis: number,
): boolean {
  const isManager = ({ scopes, tenants, is_suspended, expires_at: expiry }: AccessToken) =>
    !is_suspended &&
    includesScope(scopes, 'tokens:manage') &&
    tenants === null &&
    (expiry === null || Date.parse(expiry) > nowMillis);
  return gone.some(isManager) && !tokens.some((each) => isManager(each) && !gone.includes(each));
}

/** A difference between what something was and what it has become. */
export type Change = { name: string; before: unknown; after: unknown };

/**
 * The members that differ between two states of an entry; all of them when only one state is told. What has members of
 * its own is told by each of them. A member without a value says nothing unless it had one.
 */
export function changesOf(before: unknown, after: unknown): Change[] {
  const [old, now] = [membersOf(before), membersOf(after)];
  const names = [...new Set([...Object.keys(old), ...Object.keys(now)])];
  return names
    .map((name) => ({ name, before: old[name], after: now[name] }))
    .filter((change) => JSON.stringify(change.before) !== JSON.stringify(change.after));
}

/** The members that have a value, by their names; those within others as `breaker.state`. */
function membersOf(value: unknown, within = ''): Record<string, unknown> {
  if (isNothing(value)) return {};
  if (typeof value !== 'object' || Array.isArray(value)) return { [within || 'value']: value };
  const members = Object.entries(value as object).map(([name, member]) =>
    membersOf(member, within === '' ? name : `${within}.${name}`),
  );
  return Object.assign({}, ...members) as Record<string, unknown>;
}

function isNothing(value: unknown): boolean {
  return value === null || value === undefined || (Array.isArray(value) && value.length === 0);
}

/** A value of an entry, as one line. */
export function valueText(value: unknown): string {
  if (value === undefined) return '–';
  if (Array.isArray(value) && value.every((each) => typeof each === 'string')) {
    return value.join(', ');
  }
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** A browser and its system in two words, as far as its user agent tells; else the whole text. */
export function browserText(userAgent: string | null): string {
  if (userAgent === null) return '–';
  const browser = ['Edg', 'OPR', 'Firefox', 'Chrome', 'Safari'].find((name) =>
    userAgent.includes(`${name}/`),
  );
  const system = ['Windows', 'Android', 'iPhone', 'iPad', 'Mac OS X', 'CrOS', 'Linux'].find(
    (name) => userAgent.includes(name),
  );
  if (browser === undefined || system === undefined) return userAgent;
  const names: Readonly<Record<string, string>> = { Edg: 'Edge', OPR: 'Opera' };
  return `${names[browser] ?? browser} · ${system.replace('Mac OS X', 'macOS')}`;
}

/** Where a target is. */
export function addressOf({ url, to }: Pick<NotifyTarget, 'url' | 'to'>): string {
  return url ?? to ?? '';
}

/** The targets in their order, but those first that are to be told and are not reached. */
export function troubledFirst<T extends Pick<NotifyTarget, 'enabled' | 'last_send'>>(
  targets: readonly T[],
): T[] {
  const isTroubled = ({ enabled, last_send }: T) => enabled && last_send?.state === 'given_up';
  return targets.toSorted((one, other) => Number(isTroubled(other)) - Number(isTroubled(one)));
}

/** What a target is told of. */
export function kindsText({ tenant, kinds }: Pick<NotifyTarget, 'tenant' | 'kinds'>): string {
  if (kinds === null) return tenant === null ? 'everything' : 'all of its endpoints';
  return kinds.map((kind) => noticeTexts[kind]).join(', ');
}

type Tone = 'ok' | 'danger' | 'muted';

export const sendTexts: Readonly<Record<SendState, { text: string; tone: Tone }>> = {
  queued: { text: 'being sent', tone: 'muted' },
  delivered: { text: 'arrived', tone: 'ok' },
  given_up: { text: 'failed', tone: 'danger' },
};

export const severityTexts: Readonly<Record<Severity, { tone: Tone; isLoud: boolean }>> = {
  info: { tone: 'muted', isLoud: false },
  warning: { tone: 'muted', isLoud: true },
  critical: { tone: 'danger', isLoud: true },
};
