/** All records of a tenant, page by page. */
export async function* eachRecord(on, tenant) {
  let cursor = '';
  do {
    const path = `/enrichment/records?tenant=${tenant}&limit=500${cursor}`;
    const { status, json } = await on.call('GET', path);
    if (status !== 200) throw new Error(`${path}: ${status} ${JSON.stringify(json)}`);
    yield* json.data;
    cursor = json.next_cursor === null ? '' : `&cursor=${encodeURIComponent(json.next_cursor)}`;
  } while (cursor !== '');
}
