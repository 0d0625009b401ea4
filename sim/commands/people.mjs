import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import { covers, deskToken, groups, reaches, rightsOf } from '../people-model.mjs';
import { slice, tenant, tenants } from '../values.mjs';
import { call, calmMillis, outcomeOf, until } from '../world.mjs';
import { ask, isAnswer, queryOf, via } from './records.mjs';

const at = fc.nat(1000);
const one = (list, place) => list[place % list.length];

/** A command on a person: what is done of one is done in turn, so that it is certain what they may do. */
const ofPerson = (name, weight, play, drawn = {}) => ({
  name,
  weight,
  draw: fc.record({ via, who: at, ...drawn }),
  play(world, { who, via: through, ...more }) {
    const person = one(world.people, who);
    const work = person.turn.then(() => play(world, person, { via: through, ...more }));
    person.turn = work.catch(() => {});
    return work;
  },
});

export const peopleCommands = [
  ofPerson('sign in as a person', 3, (world, person, { via: through }) =>
    signIn(world, person, through),
  ),
  ofPerson(
    'act as a person',
    8,
    async (world, person, { place, act, slice: filter, via: through }) => {
      if (person.sessions.length === 0) await signIn(world, person, through);
      const session = one(person.sessions, place);
      if (session !== undefined)
        await actAs(world, person, session, { act, filter, place, through });
    },
    { place: at, act: fc.constantFrom('read', 'export', 'retry'), slice },
  ),
  ofPerson(
    'change the groups of a person',
    2,
    async ({ identity: { colleagues } }, { who, name, email }, { own, isOut }) => {
      if (isOut) delete colleagues[who];
      else colleagues[who] = { name: name.split(' <')[0], email, groups: own };
    },
    { own: fc.subarray(groups), isOut: fc.integer({ min: 0, max: 4 }).map((n) => n === 0) },
  ),
  ofPerson('let the sessions of a person run out', 2, async (world, person, { via: through }) => {
    await runOut(world, person);
    await signIn(world, person, through);
  }),
  ofPerson(
    'make a token as a person',
    2,
    (world, person, { tenant: own, via: through }) => mintAs(world, person, own, through),
    { tenant },
  ),
  ofPerson(
    'use a token of a person',
    2,
    async (world, person, { place, via: through }) => {
      const token = one(person.tokens, place);
      if (token !== undefined) await useToken(world, person, token, through);
    },
    { place: at },
  ),
  ofPerson('rotate the keys of the identity server', 1, async (world, person, { via: through }) => {
    world.identity.disturbedAt = performance.now();
    await world.identity.rotateKeys();
    await signIn(world, person, through);
  }),
  ofPerson(
    'stop the identity server for a while',
    1,
    (world, person, { millis, place, via: through }) =>
      doWithout(world, person, { millis, place, through }),
    { millis: fc.integer({ min: 100, max: 1500 }), place: at },
  ),
];

/**
 * A call as a page in a browser makes it; what the service answers of cookies the browser keeps.
 *
 * @param {any} world
 * @param {any} browser
 * @param {any[]} asked the method, the path and the body
 * @param {number} through
 */
async function fromPage(world, { cookies, address }, [method, path, body], through) {
  const cookie = [...cookies].map((each) => each.join('=')).join('; ');
  const headers = { cookie, 'x-forwarded-for': address };
  const options = { token: null, via: through, headers, body, timeoutMillis: 60_000 };
  const answer = await call(world, method, path, options);
  for (const text of answer.headers['set-cookie'] ?? []) {
    const [, name, value] = /^([^=]+)=([^;]*)/.exec(text);
    if (value === '') cookies.delete(name);
    else cookies.set(name, value);
  }
  return answer;
}

/** Whether nothing was done to the identity server lately. */
const isSteady = ({ identity }) =>
  !identity.isDown && performance.now() - identity.disturbedAt > calmMillis;

/**
 * Whether an answer is one of these. That the identity server was disturbed is not held against it, nor that its answers
 * do not hold by a clock that is wrong.
 */
function isFair(world, answer, what, statuses) {
  const { code } = answer.json ?? {};
  const isExcused =
    (code === 'identity_unavailable' && !isSteady(world)) ||
    (code === 'identity_refused' && !(isSteady(world) && world.isCalm()));
  return isExcused ? statuses.includes(answer.status) : isAnswer(world, answer, what, statuses);
}

/** Sends a browser to the identity server. Answers what it brings back, undefined where it does not come back. */
async function goThere(world, person, browser, { purpose, through }) {
  const asked = ['POST', '/session/identity', { purpose }];
  const begun = await fromPage(world, browser, asked, through);
  if (!isFair(world, begun, 'beginning of a sign-in', [200])) return;
  return world.identity.visit(begun.json.url, person.jar, person.who).catch((error) => {
    if (isSteady(world)) world.say(`${person.who} at the identity server: ${error.message}`);
  });
}

function openBrowser({ identity }) {
  identity.visits += 1;
  const address = `198.18.${(identity.visits >> 8) & 255}.${identity.visits & 255}`;
  return { cookies: new Map(), address, isEnded: false, mayBeEnded: false };
}

/** Signs in at the identity server, and judges whom the service lets in. Answers whether it is certain what they may do. */
async function signIn(world, person, through) {
  const browser = openBrowser(world);
  const answer = await goThere(world, person, browser, { purpose: 'page', through });
  return answer !== undefined && takeAnswer(world, person, browser, { answer, through });
}

async function takeAnswer(world, person, browser, { answer, through }) {
  const { who, sessions, lost } = person;
  const colleague = world.identity.colleagues[who];
  const rights = colleague === undefined ? undefined : rightsOf(colleague.groups);
  const opened = await fromPage(world, browser, ['POST', '/session', { answer }], through);
  const expected = rights === undefined ? 401 : rights === null ? 403 : 200;
  if (opened.status === 200) {
    sessions.push(browser);
    note(person, opened, 'session.open');
    // The older ones are not looked at any more.
    sessions.splice(0, sessions.length - 5);
  }
  if (isFair(world, opened, `sign-in of ${who}`, [expected])) {
    if (rights === undefined) return false;
    person.possible = [rights, ...lost];
    browser.mayBeEnded = lost.includes(null);
    if (rights === null) for (const each of sessions) each.isEnded = true;
    else judgeMe(world, person, opened.json);
    return true;
  }
  const isNothingDone = opened.json?.code?.startsWith('identity_') ?? false;
  if (rights === undefined || isNothingDone || outcomeOf(opened) !== 'lost') return false;
  // What was lost may still be done later, until all is at rest.
  lost.push(rights);
  person.possible.push(rights);
  if (rights === null) for (const each of sessions) each.mayBeEnded = true;
  return false;
}

/** Somebody did this, and the audit log has to say so; an optional one only where it changed anything. */
function note({ done }, answer, action, isOptional = false) {
  done.push({ request: answer.headers['x-request-id'], action, isOptional });
}

const spell = ({ scopes, tenants }) =>
  JSON.stringify([scopes, tenants].map((each) => each?.toSorted()));

/** Whether somebody is told what they may do, by the groups with which they last came. */
function judgeMe(world, { who, name, possible }, me) {
  if (
    !possible.some((rights) => rights !== null && spell(rights) === spell(me)) ||
    me.name !== name
  )
    world.say(`${who} is ${me.name} and may ${spell(me)}, not ${JSON.stringify(possible)}`);
}

/** What a session of somebody with these rights is answered. */
function statusesOf(rights, { act, tenant: own }) {
  if (rights === null) return [401];
  if (!rights.may.includes(act)) return [403];
  if (act !== 'retry') return [200];
  return reaches(rights, own) ? [202, 404, 409] : [404];
}

const calls = {
  read: ({ filter }) => ['GET', `/enrichment/records?${queryOf(filter)}&limit=20`],
  export: ({ filter }) => ['POST', '/exports/csv', filter],
  retry: ({ delivery }) => ['POST', `/webhook/dlq/${delivery.id}/retry`],
};
const actions = { export: 'export.csv', retry: 'delivery.retry' };

/** Reads, exports or retries. Nobody does or is shown what the groups do not give with which they last came. */
async function actAs(world, person, session, { act, filter, place, through }) {
  const delivery = act === 'retry' ? one([...world.webhooks.deliveries.values()], place) : null;
  if (delivery === undefined) return;
  const own = delivery?.incident.tenant ?? filter.tenant;
  if (delivery !== null) delivery.retries += 1;
  const asked = calls[act]({ filter, delivery });
  const answer = await fromPage(world, session, asked, through);
  const { who, possible } = person;
  const statuses = possible.flatMap((rights) => statusesOf(rights, { act, tenant: own }));
  if (session.mayBeEnded) statuses.push(401);
  if (!isAnswer(world, answer, `${act} by ${who}`, session.isEnded ? [401] : statuses)) return;
  if (answer.status >= 300) return;
  if (actions[act]) note(person, answer, actions[act], act === 'retry');
  const count = {
    read: () => answer.json.data.length,
    export: () => Number(answer.headers['x-record-count']),
  };
  const shown = count[act]?.() ?? 0;
  if (shown > 0 && !possible.some((rights) => rights !== null && reaches(rights, own)))
    world.say(`${who} was shown ${shown} records of ${own}`);
}

/** Lets time pass for all sessions of somebody, until the identity server has to vouch for them anew. */
async function runOut(world, { who, sessions }) {
  for (const each of sessions) each.mayBeEnded = true;
  const ended = await world
    .rows(
      `update sessions set expires_at = now() from access_tokens person
       where person.id = token_id and person.subject = $1 returning 1`,
      [who],
    )
    .catch(() => undefined);
  // The database may be away just now.
  if (ended !== undefined) for (const each of sessions) each.isEnded = true;
}

/** Shows that they are still there, and makes a token where their groups let them. */
async function mintAs(world, person, own, through) {
  if (!person.sessions.some(({ isEnded }) => !isEnded)) await signIn(world, person, through);
  const session = person.sessions.findLast(({ isEnded }) => !isEnded);
  if (session === undefined) return;
  const answer = await goThere(world, person, session, { purpose: 'confirm', through });
  if (answer === undefined) return;
  const asked = ['POST', '/session/confirm', { answer }];
  const confirmed = await fromPage(world, session, asked, through + 1);
  const { who, possible, tokens } = person;
  const mayBeEnded = session.mayBeEnded || possible.includes(null);
  const isGone = world.identity.colleagues[who] === undefined;
  const expected = [...(isGone ? [] : [200]), ...(isGone || mayBeEnded ? [401] : [])];
  if (!isFair(world, confirmed, `confirmation of ${who}`, expected)) return;
  if (confirmed.status !== 200) return;
  note(person, confirmed, 'session.confirm');
  const token = deskToken(own);
  const body = { name: `of ${who}`, ...token };
  const made = await fromPage(world, session, ['POST', '/tokens', body], through + 2);
  const statuses = possible.map((rights) => (rights?.may.includes('mint') ? 201 : 403));
  if (mayBeEnded) statuses.push(401);
  if (!isAnswer(world, made, `token of ${who}`, statuses) || made.status !== 201) return;
  note(person, made, 'token.create');
  tokens.push({ ...token, token: made.json.token });
  tokens.splice(0, tokens.length - 5);
}

/** What somebody made counts only while they may do as much. */
async function useToken(world, { who, possible }, token, through) {
  const answer = await call(world, 'GET', '/me', { via: through, token: token.token });
  const statuses = possible.map((rights) => (covers(rights, token) ? 200 : 401));
  isAnswer(world, answer, `token of ${who}`, statuses);
}

/** While the identity server is away nobody is let in by it; sessions and access tokens go on. */
async function doWithout(world, person, { millis, place, through }) {
  const { identity } = world;
  const browser = openBrowser(world);
  const answer = await goThere(world, person, browser, { purpose: 'page', through });
  if (answer === undefined) return;
  identity.goAway();
  try {
    const taken = await fromPage(world, browser, ['POST', '/session', { answer }], through);
    isFair(world, taken, 'sign-in while the identity server is away', [401, 503]);
    const session = one(person.sessions, place);
    const reading = { act: 'read', filter: { tenant: tenants[0] }, place, through };
    if (session !== undefined) await actAs(world, person, session, reading);
    const by = { token: null, via: through, body: { token: world.token } };
    await ask(world, 'sign-in by a token', [200], 'POST', '/session', by);
    await delay(millis);
  } finally {
    identity.comeBack();
  }
}

/** Everybody comes once more: then they may do what their groups give, and nothing that was given before counts. */
export async function judgePeople(world) {
  for (const person of world.people) {
    const { who, sessions, tokens, done } = person;
    if (done.length === 0 && sessions.length === 0) continue;
    person.lost.length = 0;
    if (world.identity.colleagues[who] === undefined) await runOut(world, person);
    else {
      const isJudged = async () => (await signIn(world, person, 0)) || world.faults.length > 0;
      await until(`${who} to sign in`, isJudged);
    }
    for (const [place, session] of sessions.entries()) {
      const me = await fromPage(world, session, ['GET', '/me'], place);
      const { isEnded, mayBeEnded } = session;
      const statuses = [...(isEnded ? [] : [200]), ...(mayBeEnded || isEnded ? [401] : [])];
      if (isAnswer(world, me, `session of ${who}`, statuses) && me.status === 200)
        judgeMe(world, person, me.json);
    }
    for (const token of tokens) await useToken(world, person, token, 0);
    await judgeRows(world, person);
  }
}

/** What is stored of somebody. Those of whom the identity server knows nothing more are in no session after an hour. */
async function judgeRows(world, { who, possible }) {
  const [row] = await world.rows(
    `select scopes, tenants, revoked_at is not null as is_out,
       (select count(*)::int from sessions where token_id = person.id and expires_at > now()) as sessions,
       exists (select from sessions where token_id = person.id and expires_at > created_at + interval '1 hour') as is_long
     from access_tokens person where subject = $1`,
    [who],
  );
  if (row === undefined) return;
  const isThere = world.identity.colleagues[who] !== undefined;
  const [rights] = possible;
  const isRight = rights === null ? row.is_out : !row.is_out && spell(row) === spell(rights);
  const mayHaveSessions = isThere && rights !== null;
  if (row.is_long || (isThere && !isRight) || (row.sessions > 0 && !mayHaveSessions))
    world.say(`${who} is kept as ${JSON.stringify(row)}, with ${JSON.stringify(possible)}`);
}

/** Each thing that somebody did is in the audit log under their name. */
export async function judgeNames(world) {
  const done = world.people.flatMap(({ who, name, done: own }) =>
    own.splice(0).map((act) => ({ ...act, who, name })),
  );
  const rows = await world.rows(
    `select request_id, action, token_name, subject from audit_log
     left join access_tokens on access_tokens.id = token_id where request_id = any($1)`,
    [done.map(({ request }) => request)],
  );
  for (const { request, action, who, name, isOptional } of done) {
    const entries = rows.filter((row) => row.request_id === request);
    const isNamed = entries.some(
      (row) => row.action === action && row.subject === who && row.token_name === name,
    );
    if (!isNamed && !(isOptional && entries.length === 0))
      world.say(`the audit log says of ${action} by ${name}: ${JSON.stringify(entries)}`);
  }
}
