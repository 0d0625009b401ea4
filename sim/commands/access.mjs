import fc from 'fast-check';
import { content, tenant } from '../values.mjs';
import { call, outcomeOf } from '../world.mjs';
import { runCommand } from './backups.mjs';
import { ask, isAnswer, via } from './records.mjs';

/** A stream of a revoked token ends within so many milliseconds, also on a machine that is busy. */
const revokedWithinMillis = 20_000;

export const accessCommands = [
  {
    name: 'mint a token',
    weight: 1,
    draw: fc.record({ via, tenant }),
    async play(world, { via: at, tenant: own }) {
      const token = await mint(world, at, own);
      if (token !== undefined)
        world.tokens.set(token.id, { ...token, tenant: own, isRevoked: false });
    },
  },
  {
    name: 'use a token',
    weight: 3,
    draw: fc.record({ via, tenant, at: fc.nat(1000) }),
    async play(world, { via: through, tenant: own, at }) {
      const tokens = [...world.tokens.values()];
      if (tokens.length === 0) return;
      const token = tokens[at % tokens.length];
      const wasRevoked = token.isRevoked;
      const { token: secret } = token;
      const path = `/enrichment/datasets?level=tenant&tenant=${encodeURIComponent(own)}`;
      const answer = await call(world, 'GET', path, { token: secret, via: through });
      if (wasRevoked && answer.status === 200)
        world.say(`the revoked token ${token.id} was let in`);
      const isGood = !token.isRevoked && !token.isLost && secret === token.token;
      if (answer.status === 401 && isGood) world.say(`the token ${token.id} was refused`);
      const isForeign =
        answer.status === 200 && own !== token.tenant && answer.json.data.length > 0;
      if (isForeign) world.say(`a token of ${token.tenant} was shown ${own}`);
    },
  },
  {
    name: 'revoke a token',
    weight: 1,
    draw: fc.record({ via, at: fc.nat(1000) }),
    async play(world, { via: through, at }) {
      const token = pickSure(world, at);
      if (token === undefined) return;
      token.isLost = true;
      const answer = await call(world, 'DELETE', `/tokens/${token.id}`, { via: through });
      if (answer.status === 204) token.isRevoked = true;
      if (outcomeOf(answer) === 'refused') token.isLost = false;
    },
  },
  {
    name: 'rotate a token',
    weight: 1,
    draw: fc.record({ via, at: fc.nat(1000), overlap: fc.constantFrom(0, 3600) }),
    async play(world, { via: through, at, overlap }) {
      const token = pickSure(world, at);
      if (token === undefined) return;
      const { token: before } = token;
      token.isLost = true;
      const path = `/tokens/${token.id}/rotate`;
      const body = { overlap_seconds: overlap };
      const answer = await call(world, 'POST', path, { via: through, body });
      if (outcomeOf(answer) === 'refused') token.isLost = false;
      if (answer.status !== 200) return;
      Object.assign(token, { token: answer.json.token, isLost: false });
      const old = await call(world, 'GET', '/me', { token: before, via: through });
      if (old.status === (overlap === 0 ? 200 : 401) && !token.isLost && !token.isRevoked)
        world.say(
          `${before.slice(0, 8)}… of ${token.id} was answered ${old.status} at ${overlap} s`,
        );
    },
  },
  {
    name: 'revoke a token amid its stream',
    weight: 1,
    draw: fc.record({ via, tenant, afterMillis: fc.nat(800) }),
    play: (world, { via: at, tenant: own, afterMillis }) =>
      revokeAmidStream(world, at, own, afterMillis),
  },
  {
    name: 'have two lift a legal hold',
    weight: 1,
    draw: fc.record({ via }),
    play: (world, { via: at }) => liftHold(world, at),
  },
  {
    name: 'have the end of a legal hold rejected',
    weight: 1,
    draw: fc.record({ via, isOwn: fc.boolean() }),
    play: (world, { via: at, isOwn }) => keepHold(world, at, isOwn),
  },
];

/** A token that is good, and that no other call revokes or rotates; undefined when there is none. */
function pickSure(world, at) {
  const sure = [...world.tokens.values()].filter((each) => !each.isRevoked && !each.isLost);
  return sure[at % sure.length];
}

async function mint(world, at, own) {
  const scopes = ['enrichment:write', 'enrichment:read'];
  const body = { name: 'simulated', scopes, tenants: [own] };
  const answer = await ask(world, 'token', [201], 'POST', '/tokens', { body, via: at });
  return answer && { id: answer.json.id, token: answer.json.token };
}

/** One asks for the end of a hold, which somebody else could confirm; undefined when it could not be asked for. */
async function askForLift(world, via) {
  const token = await somebodyElse(world);
  if (token === undefined) return;
  world.holds += 1;
  const path = `/retention/policies/held-${world.holds}`;
  const held = { via, body: { hot_days: 0, hold: true } };
  if ((await ask(world, 'hold', [200], 'PUT', path, held)) === undefined) return;
  const lifted = { via, body: { hot_days: 0 } };
  const asked = await ask(world, 'end of a hold', [403], 'PUT', path, lifted);
  if (asked === undefined) return;
  const { approval_id: id } = asked.json;
  const confirm = (options) => call(world, 'POST', `/approvals/${id}/confirm`, options);
  return { token, path, id, confirm };
}

/** Who asked for the end of a hold cannot confirm it; of two confirmations by somebody else one ends it. */
async function liftHold(world, via) {
  const lift = await askForLift(world, via);
  if (lift === undefined) return;
  const { token, path, confirm } = lift;
  isAnswer(world, await confirm({ via }), 'confirmation of the own request', [403]);
  const both = await Promise.all([confirm({ via, token }), confirm({ via: via + 1, token })]);
  for (const answer of both) isAnswer(world, answer, 'confirmation', [200, 409]);
  const confirmed = both.filter(({ status }) => status === 200).length;
  if (confirmed > 1) world.say(`the end of the hold ${path} was confirmed twice`);
  const policy = await ask(world, 'policy', [200], 'GET', path, { via });
  if (policy === undefined) return;
  const { hold } = policy.json;
  const isLost = both.some((answer) => outcomeOf(answer) === 'lost');
  if (confirmed > 0 ? hold : !hold && !isLost)
    world.say(`${path}: ${confirmed} confirmations, and its hold is ${hold}`);
}

/** What was asked for is listed; once somebody has rejected it, or its asker withdrawn it, nobody can confirm it. */
async function keepHold(world, via, isOwn) {
  const lift = await askForLift(world, via);
  if (lift === undefined) return;
  const { token, path, id, confirm } = lift;
  const list = await ask(world, 'approvals', [200], 'GET', '/approvals?state=waiting', { via });
  const isListed = list?.json.data.some((each) => each.id === id) ?? true;
  if (!isListed) world.say(`the request ${id} is not among those that wait`);
  const one = await ask(world, 'approval', [200], 'GET', `/approvals/${id}`, { via: via + 1 });
  const { state, is_own, body } = one?.json ?? {};
  if (one !== undefined && !(state === 'waiting' && is_own && body?.hot_days === 0))
    world.say(`the request ${id} shows ${one.text.slice(0, 300)}`);
  const by = isOwn ? { via } : { via, token };
  const rejected = await ask(world, 'rejection', [200], 'POST', `/approvals/${id}/reject`, by);
  if (rejected === undefined) return;
  isAnswer(world, await confirm({ via, token }), 'confirmation of what was rejected', [409]);
  const policy = await ask(world, 'policy', [200], 'GET', path, { via });
  if (policy !== undefined && !policy.json.hold) world.say(`${path} lost its hold after all`);
}

/** The token of an admin of another chain, which only the machine itself makes. */
async function somebodyElse(world) {
  const args = ['tokens', 'create', '--local', '--name', 'somebody else', '--preset', 'admin'];
  world.somebodyElse ??= (await runCommand(world, args, null)).output.match(/svc_\S+/)?.[0];
  return world.somebodyElse;
}

/** Sends records for ever, until the service ends it: soon after the token was revoked. */
async function revokeAmidStream(world, via, own, afterMillis) {
  const token = await mint(world, via, own);
  if (token === undefined) return;
  let isAnswered = false;
  const contents = [];
  const write = world.records.beginWrite([]);
  const onRequest = (sent) => {
    let n = 0;
    const send = () => {
      if (isAnswered || sent.destroyed) return;
      const made = Array.from({ length: 200 }, () => {
        n += 1;
        return content({
          ...{ tenant: own, store: 'S1', day: '2001-01-01', time: '00:00:00.000000' },
          ...{ event: `${token.id}-${n}`, kind: null, size: 0, variant: 0 },
        });
      });
      contents.push(made);
      world.records.addToWrite(write, made);
      sent.write(made.map((content) => `${content.text()}\n`).join(''));
      setTimeout(send, 20);
    };
    send();
  };
  const streaming = call(world, 'POST', '/enrichment/records', {
    ...{ via, token: token.token, onRequest, timeoutMillis: 120_000 },
    headers: { 'content-type': 'application/x-ndjson' },
  });
  await new Promise((resolve) => setTimeout(resolve, afterMillis));
  const revoked = await call(world, 'DELETE', `/tokens/${token.id}`, { via });
  const isRevoked = revoked.status === 204;
  const late = new Promise((resolve) =>
    setTimeout(() => resolve(null), isRevoked ? revokedWithinMillis : 3000),
  );
  const answer = await Promise.race([streaming, late]);
  isAnswered = true;
  const outcomes = write.contents.map(() => 'lost');
  world.faults.push(...world.records.endWrite(write, outcomes));
  if (answer === null && isRevoked && world.isCalm()) {
    world.say(`the stream of a revoked token went on for ${revokedWithinMillis / 1000} s`);
  }
  if (answer?.status === 200) world.say('the stream of a revoked token was answered 200');
}
