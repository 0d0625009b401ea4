import { startIdentityServer, testClient } from '../packages/server/test/identity-server.mjs';
import { tenants } from './values.mjs';

const publicUrl = 'https://svcctl.example';

const [first, second, third] = tenants;
const admin = { scopes: ['admin'], may: ['read', 'export', 'retry', 'mint'] };
const desk = { scopes: ['enrichment:read', 'analytics:read'], may: ['read', 'export'] };
const onCall = { scopes: ['enrichment:read', 'dlq:operate'], may: ['read', 'retry'] };

/** What members of which group may do, and in which tenants; null: in all. */
const table = [
  { group: 'admins', ...admin, tenants: null },
  { group: 'desk-1', ...desk, tenants: [first] },
  { group: 'desk-2', ...desk, tenants: [second] },
  { group: 'on-call', ...onCall, tenants: [second, third] },
];

export const groups = [...table.map(({ group }) => group), 'chess'];

const directory = {
  ada: { name: 'Ada Ørsted', groups: ['admins'] },
  bob: { name: 'Bob 北京', groups: ['desk-1', 'desk-2', 'chess'] },
  cleo: { name: 'Cleo O’Brien', groups: ['on-call'] },
  dai: { name: 'Dai', groups: ['on-call', 'desk-2'] },
  eli: { name: 'Eli', groups: ['chess'] },
};

/**
 * What these groups give, as docs/sign-in.md says it: what the first row of the table says, in the tenants of all rows
 * that say the same; null: nothing.
 */
export function rightsOf(own) {
  const [row, ...more] = table.filter(({ group }) => own.includes(group));
  if (row === undefined) return null;
  const alike = [row, ...more.filter(({ may }) => may === row.may)];
  const reach = row.tenants && [...new Set(alike.flatMap((each) => each.tenants))];
  return { scopes: row.scopes, may: row.may, tenants: reach };
}

export const reaches = (rights, tenant) =>
  rights.tenants === null || rights.tenants.includes(tenant);

/** A token that those at the desk of one tenant could have: who makes it must go on to have as much. */
export const deskToken = (tenant) => ({ scopes: desk.scopes, tenants: [tenant] });
export const covers = (rights, { tenants: [tenant] }) =>
  rights?.may.includes('export') && reaches(rights, tenant);

/** The identity server of a history with the people in its directory, and what the service is told of it. */
export async function startIdentity(scope) {
  const colleagues = Object.fromEntries(
    Object.entries(directory).map(([who, one]) => [who, { ...one, email: `${who}@sim.example` }]),
  );
  const server = await startIdentityServer(publicUrl, colleagues);
  scope.defer(() => server.stop());
  const people = Object.keys(directory).map((who) => ({
    ...{ who, name: `${directory[who].name} <${who}@sim.example>`, email: `${who}@sim.example` },
    /** The cookies of the identity server, and those who wait for their turn with this person. */
    ...{ jar: new Map(), turn: Promise.resolve() },
    /** What the service may let them do, by what they had when they last came: one of these. Some of it is of calls lost. */
    ...{ possible: [null], lost: [] },
    ...{ sessions: [], tokens: [], done: [] },
  }));
  let stops = 0;
  const setStops = (count) => {
    stops = count;
    server.isDown = stops > 0;
    identity.disturbedAt = performance.now();
  };
  const identity = Object.assign(server, {
    ...{ disturbedAt: -Infinity, visits: 0 },
    goAway: () => setStops(stops + 1),
    comeBack: () => setStops(stops - 1),
  });
  return {
    ...{ people, identity },
    settings: {
      SVC_PUBLIC_URL: publicUrl,
      SVC_TRUSTED_PROXIES: '127.0.0.0/8',
      SVC_OIDC_ISSUER: server.issuer,
      SVC_OIDC_CLIENT_ID: testClient.id,
      SVC_OIDC_CLIENT_SECRET: testClient.secret,
      SVC_OIDC_SCOPES: 'openid profile email groups',
      SVC_OIDC_GROUPS: JSON.stringify(
        Object.fromEntries(
          table.map(({ group, scopes, tenants: reach }) => [
            group,
            { scopes, ...(reach && { tenants: reach }) },
          ]),
        ),
      ),
    },
  };
}
