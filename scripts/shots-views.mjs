// The views of the console that `npm run shots` takes pictures of.

const leaf = '/records?tenant=TX&store=DFW&month=2001-01';

/**
 * Every view: its name, its place in the console, and what has to be done there before the picture is taken. A name
 * begins with the name of the page.
 */
export const views = [
  { name: 'sign-in', place: '/sign-in', isSignedOut: true },
  { name: 'overview', place: '/' },
  { name: 'overview-outage', place: '/', prepare: loseService },
  { name: 'jobs', place: '/jobs' },
  { name: 'jobs-drawer', place: '/jobs', prepare: openRow },
  { name: 'jobs-cancel', place: '/jobs?kind=retry', prepare: ask(/^CANCEL/, openRow) },
  { name: 'records', place: '/records' },
  { name: 'records-tenant', place: '/records?tenant=TX' },
  { name: 'records-store', place: '/records?tenant=TX&store=DFW' },
  { name: 'records-leaf', place: leaf },
  { name: 'records-record', place: leaf, prepare: openRow },
  { name: 'records-where', place: leaf, prepare: writeWhere },
  { name: 'records-days', place: `${leaf}&view=days` },
  { name: 'records-tenant-days', place: '/records?tenant=TX&view=days' },
  { name: 'records-brush', place: `${leaf}&from=2001-01-08&to=2001-01-14` },
  { name: 'records-facts', place: `${leaf}&view=facts` },
  { name: 'records-tags', place: `${leaf}&view=tags` },
  { name: 'records-versions', place: `${leaf}&view=versions` },
  { name: 'records-export', place: leaf, prepare: press('EXPORT…', 'aside[data-drawer]') },
  { name: 'records-tag', place: `${leaf}&panel=tag` },
  { name: 'records-erase', place: `${leaf}&panel=erase` },
  { name: 'records-erase-event', place: leaf, prepare: eraseEvent },
  { name: 'records-freeze', place: `${leaf}&view=versions&panel=freeze` },
  { name: 'records-version', place: `${leaf}&view=versions`, prepare: openRow },
  {
    name: 'records-version-export',
    place: `${leaf}&view=versions`,
    prepare: press('EXPORT texas-q1', 'aside[data-drawer]'),
  },
  { name: 'exports', place: '/exports' },
  { name: 'exports-new', place: '/exports?panel=new-export' },
  { name: 'exports-drawer', place: '/exports', prepare: openRow },
  { name: 'exports-schedules', place: '/exports?view=schedules' },
  { name: 'exports-schedules-new', place: '/exports?view=schedules&panel=new-schedule' },
  { name: 'exports-remove', place: '/exports', prepare: ask(/^REMOVE FILE/, openRow) },
  { name: 'retention', place: '/retention' },
  { name: 'retention-tenant', place: '/retention', prepare: openRow },
  { name: 'retention-policy', place: '/retention?panel=tenant/*' },
  { name: 'retention-run', place: '/retention?panel=run' },
  { name: 'retention-verification', place: '/retention', prepare: openVerification },
  { name: 'retention-journal', place: '/retention?view=journal' },
  { name: 'retention-move', place: '/retention?view=journal', prepare: openRow },
  { name: 'dlq', place: '/dlq' },
  { name: 'dlq-drawer', place: '/dlq', prepare: openRow },
  { name: 'dlq-groups', place: '/dlq?view=groups' },
  { name: 'dlq-retry', place: '/dlq?panel=retry' },
  { name: 'deliveries', place: '/deliveries' },
  { name: 'deliveries-drawer', place: '/deliveries', prepare: openRow },
  { name: 'incidents', place: '/incidents' },
  { name: 'incidents-failed', place: '/incidents?deliveries=failed' },
  { name: 'incidents-panel', place: '/incidents?deliveries=failed', prepare: openRow },
  { name: 'endpoints', place: '/endpoints' },
  { name: 'endpoints-types', place: '/endpoints?view=types' },
  { name: 'endpoints-drawer', place: '/endpoints', prepare: openRow },
  { name: 'endpoints-delete', place: '/endpoints', prepare: ask(/^Delete/, openRow) },
  { name: 'endpoints-new', place: '/endpoints?panel=endpoint/new' },
  { name: 'access', place: '/access' },
  { name: 'access-revoke', place: '/access', prepare: ask(/^REVOKE/) },
  { name: 'access-new', place: '/access?panel=new-token' },
  { name: 'access-sessions', place: '/access?view=sessions' },
  { name: 'access-approvals', place: '/access?view=approvals' },
  { name: 'access-portal', place: '/access?view=portal' },
  { name: 'access-new-link', place: '/access?view=portal&panel=new-link' },
  { name: 'access-audit', place: '/access?view=audit' },
  { name: 'access-notices', place: '/access?view=notices' },
  { name: 'access-rights', place: '/access?view=rights' },
  { name: 'access-new-target', place: '/access?view=notices&panel=new-target' },
  { name: 'access-entry', place: '/access?view=audit', prepare: openRow },
  {
    name: 'views',
    place: '/dlq?tenant=TX&status=abandoned',
    prepare: press('VIEWS', '[role="dialog"]'),
  },
  { name: 'palette', place: leaf, prepare: openPalette('') },
  { name: 'palette-path', place: '/records', prepare: openPalette('TX/D', /^TX › D/) },
  { name: 'palette-verb', place: '/records', prepare: openPalette('export T', /^Export TX/) },
  { name: 'palette-nothing', place: '/records', prepare: findNothing },
  { name: 'keys', place: '/records', prepare: (page) => page.keyboard.press('?') },
  { name: 'outage', place: '/dlq', prepare: loseService },
  { name: 'no-such-page', place: '/no-such-page' },
];

async function openRow(page) {
  await page.locator('tbody tr[data-key]').first().press('Enter');
  await page.locator('aside[data-drawer]').waitFor();
}

async function writeWhere(page) {
  const filters = page.getByRole('button', { name: 'Filter', exact: true });
  if (await filters.isVisible()) await filters.click();
  await page
    .getByLabel('What must hold of a record')
    .pressSequentially('score >= 0.9 and label = ');
  await page.getByRole('listbox', { name: 'Proposals' }).getByRole('option').first().waitFor();
}

/** The question before the event of a record is erased. */
async function eraseEvent(page) {
  await openRow(page);
  await press('ERASE…', 'aside[data-drawer] dl')(page);
}

/** The question that a button asks first, after `before`. */
function ask(name, before = async () => {}) {
  return async (page) => {
    await before(page);
    await page.getByRole('button', { name }).first().click();
    await page.getByRole('dialog').waitFor();
  };
}

function press(name, shown) {
  return async (page) => {
    await page.getByRole('button', { name, exact: true }).first().click();
    await page.locator(shown).waitFor();
  };
}

/** Opens the palette, and waits for a line if one is to come. */
function openPalette(text, line) {
  return async (page) => {
    await page.keyboard.press('Control+k');
    await page.keyboard.type(text);
    if (line !== undefined) await page.getByRole('option', { name: line }).first().waitFor();
  };
}

async function findNothing(page) {
  await openPalette('no such thing')(page);
  await page.getByText('Nothing is found').waitFor();
}

async function openVerification(page) {
  await page.getByRole('region', { name: 'All tenants' }).getByRole('button').click();
  await page.locator('aside[data-drawer]').waitFor();
}

/** Every request fails from now on, and the page has noticed. */
async function loseService(page) {
  await page.route('**/api/v1/**', (route) => route.fulfill({ status: 503, body: '' }));
  // The page polls by its own clock.
  await page.clock.fastForward(20_000);
  await page.getByRole('button', { name: 'RETRY' }).first().waitFor();
}
