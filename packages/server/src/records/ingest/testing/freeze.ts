import sql from 'sql-template-tag';
import { use } from '../../../../test/use.ts';
import type { Database } from '../../../platform/postgres/database.ts';
import { type ColdStore, openColdStore } from '../../read/testing/cold-store.ts';
import { freeze } from '../../read/testing/freeze.ts';

/** A cold tier in a folder of its own. */
type Freezer = ColdStore & {
  /** Makes one segment of all hot records of a tenant; answers the path of its object. */
  freeze(tenant: string): Promise<string>;
};

async function createFreezer(db: Database): Promise<Freezer> {
  const cold = await openColdStore();
  let serial = 0;
  return {
    ...cold,
    async freeze(tenant) {
      serial += 1;
      const id = `seg${serial}`;
      await freeze(db, cold, { tenant, id });
      const [segment] = await db.query<{ key: string }>(
        sql`select object_key as key from segments where id = ${id}`,
      );
      return cold.store.pathOf(segment?.key ?? '') ?? '';
    },
  };
}

/** Such a tier for all tests of a file. */
export function useFreezer(db: Database): Freezer {
  return use(
    () => createFreezer(db),
    (freezer) => freezer.close(),
  );
}
