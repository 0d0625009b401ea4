import type { Database } from '../../platform/postgres/database.ts';
import type { Keyring, SecretBox } from '../secret.ts';
import { listSealedOtherwise, replaceSealed } from './queries.ts';

const endpointsAtOnce = 500;

/**
 * Seals the secrets of all endpoints anew that are sealed under another key than the one that seals, each row by itself:
 * when this is killed, the next call goes on. A secret that no key opens stays as it is.
 */
export async function resealEndpoints(
  db: Database,
  { ring, box, signal }: { ring: Keyring; box: SecretBox; signal: AbortSignal },
): Promise<void> {
  for (let after = ''; ; ) {
    const page = await listSealedOtherwise(db, {
      ...{ keyId: ring.sealing.id, after, limit: endpointsAtOnce },
    });
    for (const endpoint of page) {
      signal.throwIfAborted();
      const anew = (sealed: Buffer) => sealAnew(box, sealed, endpoint.id);
      await replaceSealed(db, endpoint, {
        secret: anew(endpoint.secret),
        previous_secrets: endpoint.previous_secrets.map(anew),
      });
    }
    const last = page.at(-1);
    if (last === undefined || page.length < endpointsAtOnce) return;
    after = last.id;
  }
}

/** The ids of the endpoints whose secret no key of the box opens, in their order. */
export async function listUnopened(
  db: Database,
  { ring, box, signal }: { ring: Keyring; box: SecretBox; signal: AbortSignal },
): Promise<string[]> {
  const unopened: string[] = [];
  for (let after = ''; ; ) {
    signal.throwIfAborted();
    const page = await listSealedOtherwise(db, {
      ...{ keyId: ring.sealing.id, after, limit: endpointsAtOnce },
    });
    for (const { id, secret } of page) if (!canOpen(box, secret, id)) unopened.push(id);
    const last = page.at(-1);
    if (last === undefined || page.length < endpointsAtOnce) return unopened;
    after = last.id;
  }
}

/**
 * Whether a secret can be decrypted. It cannot if its key is lost; rotating is the way out of that, so it must not fail
 * then.
 */
export function canOpen(box: SecretBox, sealed: Buffer, owner: string): boolean {
  try {
    box.open(sealed, owner);
    return true;
  } catch {
    return false;
  }
}

/** The same secret, sealed as the box seals now; as it was when it cannot be opened. */
export function sealAnew(box: SecretBox, sealed: Buffer, owner: string): Buffer {
  try {
    return box.seal(box.open(sealed, owner), owner);
  } catch {
    return sealed;
  }
}
