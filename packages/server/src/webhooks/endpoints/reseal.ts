import type { Database } from '../../platform/postgres/database.ts';
import type { Keyring, SecretBox } from '../secret.ts';
import { listSealedOtherwise, replaceSealed } from './queries.ts';

const endpointsAtOnce = 500;

type Sealing = { ring: Keyring; box: SecretBox; signal: AbortSignal };

/** The endpoints that have a secret under another key than the one that seals, in the order of their ids. */
async function* sealedOtherwise(db: Database, { ring, signal }: Sealing) {
  const keyId = ring.sealing.id;
  const limit = endpointsAtOnce;
  for (let after: string | undefined = ''; after !== undefined; ) {
    const page = await listSealedOtherwise(db, { keyId, after, limit });
    for (const endpoint of page) {
      signal.throwIfAborted();
      yield endpoint;
    }
    after = page.length < limit ? undefined : page.at(-1)?.id;
  }
}

/** Seals all secrets anew that are under another key, row by row. One that no key opens stays as it is. */
export async function resealEndpoints(db: Database, sealing: Sealing): Promise<void> {
  for await (const endpoint of sealedOtherwise(db, sealing)) {
    const anew = (sealed: Buffer) => sealAnew(sealing.box, sealed, endpoint.id);
    await replaceSealed(db, endpoint, {
      secret: anew(endpoint.secret),
      previous_secrets: endpoint.previous_secrets.map(anew),
      headers: endpoint.headers && anew(endpoint.headers),
      delivery_keys: endpoint.delivery_keys && anew(endpoint.delivery_keys),
    });
  }
}

/** The ids of endpoints of which no key opens something; secrets that were rotated out do not count. */
export async function listUnopened(db: Database, sealing: Sealing): Promise<string[]> {
  const unopened: string[] = [];
  for await (const { id, secret, headers, delivery_keys: keys } of sealedOtherwise(db, sealing)) {
    const all = [secret, headers ?? secret, keys ?? secret];
    const canSend = all.every((sealed) => canOpen(sealing.box, sealed, id));
    if (!canSend) unopened.push(id);
  }
  return unopened;
}

/** Whether a secret can be decrypted. Rotating is the way out of a lost key, so it must not fail then. */
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
