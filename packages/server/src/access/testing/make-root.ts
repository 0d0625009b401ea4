import sql from 'sql-template-tag';
import type { TestService } from '../../../test/service.ts';
import { hashSecret, newAccessToken, newId } from '../../kernel/ids.ts';

/** Makes a token of an admin that no other token has made, as the machine of the service does. */
export async function makeRoot(
  { db }: Pick<TestService, 'db'>,
  { name, tenants = null }: { name: string; tenants?: readonly string[] | null },
): Promise<{ id: string; token: string }> {
  const [id, token] = [newId('tok'), newAccessToken()];
  await db.query(sql`
    insert into access_tokens (id, hash, name, scopes, tenants)
    values (${id}, ${hashSecret(token)}, ${name}, '{admin}', ${tenants})`);
  return { id, token };
}
