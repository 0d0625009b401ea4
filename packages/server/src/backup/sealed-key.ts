import { createCipheriv, createDecipheriv, randomBytes, scrypt } from 'node:crypto';
import { AppError } from '../kernel/errors.ts';

/** The secret key, encrypted under a passphrase. Bytes are base64. */
export type SealedKey = {
  readonly cost: number;
  readonly salt: string;
  readonly nonce: string;
  readonly sealed: string;
  readonly tag: string;
};

/** 2^17 and blocks of 8 (1 KiB) take 128 MiB and half a second: what OWASP asks for at least. */
const cost = 2 ** 17;
const blockSize = 8;

/** Encrypts by AES-256-GCM, under a key that scrypt derives from the passphrase. */
export async function sealKey(text: string, passphrase: string): Promise<SealedKey> {
  const [salt, nonce] = [randomBytes(16), randomBytes(12)];
  const cipher = createCipheriv('aes-256-gcm', await derive(passphrase, salt, cost), nonce);
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  const base64 = (bytes: Buffer) => bytes.toString('base64');
  return {
    cost,
    salt: base64(salt),
    nonce: base64(nonce),
    sealed: base64(sealed),
    tag: base64(cipher.getAuthTag()),
  };
}

/** Throws `passphrase_wrong`. */
export async function openKey(key: SealedKey, passphrase: string): Promise<string> {
  const bytes = (text: string) => Buffer.from(text, 'base64');
  const derived = await derive(passphrase, bytes(key.salt), key.cost);
  const decipher = createDecipheriv('aes-256-gcm', derived, bytes(key.nonce), {
    authTagLength: 16,
  });
  decipher.setAuthTag(bytes(key.tag));
  try {
    return Buffer.concat([decipher.update(bytes(key.sealed)), decipher.final()]).toString('utf8');
  } catch (error) {
    throw new AppError('passphrase_wrong', {
      detail:
        'The passphrase is not the one that the backup was made with. Nothing was restored. Give it in SVC_BACKUP_PASSPHRASE, or at the terminal.',
      cause: error,
    });
  }
}

function derive(passphrase: string, salt: Buffer, n: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const options = { N: n, r: blockSize, p: 1, maxmem: 256 * n * blockSize };
    scrypt(passphrase.normalize('NFKC'), salt, 32, options, (error, key) => {
      if (error === null) resolve(key);
      else reject(error);
    });
  });
}
