import { request } from 'node:http';
import fc from 'fast-check';
import { linesOf, rowOfLine } from '../rows.mjs';
import { tenant } from '../values.mjs';
import { ask, via } from './records.mjs';

/** What tails ask for, and whether a record fits. */
const wheres = {
  '': () => true,
  'kind = "detect" or not exists(kind)': ({ kind }) => kind === 'detect' || kind === null,
};
const where = fc.constantFrom(...Object.keys(wheres));

export const tailCommands = [
  {
    name: 'follow the records of a tenant for a while',
    weight: 4,
    draw: fc.record({ via, tenant, where, millis: fc.constantFrom(50, 500, 2000) }),
    async play(world, { via: at, tenant: own, where: asked, millis }) {
      const tail = tailOf(world, own, asked);
      // One client follows each tenant so, and goes on where it was cut.
      if (tail.isOpen) return;
      tail.isOpen = true;
      take(world, tail, await readUntilCut(world, pathOf(own, tail), { via: at, millis }));
      tail.isOpen = false;
    },
  },
];

/** What a tail of a tenant has told so far, and the place where it goes on. */
function tailOf(world, own, asked) {
  const key = JSON.stringify([own, asked]);
  const tail = world.tails.get(key) ?? {
    ...{ where: asked, after: '', told: new Map(), isOpen: false },
  };
  world.tails.set(key, tail);
  return tail;
}

function pathOf(own, { after, where: asked }, more = {}) {
  const begin = after === '' ? { since: '2000-01-01T00:00:00Z' } : { after };
  const narrow = asked === '' ? {} : { where: asked };
  const query = new URLSearchParams({ tenant: own, ...narrow, ...begin, ...more });
  return `/enrichment/records/tail?${query}`;
}

/** Opens a tail, and answers what came of it until it is cut, by whom ever: half an event at its end as well. */
async function readUntilCut(world, path, { via: at, millis }) {
  const serving = world.processes.filter(({ roles, isReady }) => isReady && roles.includes('api'));
  const each = serving[at % serving.length];
  if (each === undefined) return Buffer.alloc(0);
  return new Promise((resolve) => {
    const pieces = [];
    const sent = request(`${each.url}/api/v1${path}`, {
      headers: { authorization: `Bearer ${world.token}` },
    });
    const timer = setTimeout(() => sent.destroy(), millis);
    sent
      .on('error', () => {})
      .on('close', () => {
        clearTimeout(timer);
        resolve(Buffer.concat(pieces));
      });
    sent.on('response', (response) => {
      response.on('error', () => {});
      if (response.statusCode === 410) world.say(`a tail was refused its place: ${path}`);
      if (response.statusCode !== 200) return response.resume();
      response.on('data', (piece) => pieces.push(piece));
    });
    sent.end();
  });
}

/** Takes the events that came whole, line by line: a place that is kept must not keep all of the text that it stood in. */
function take(world, tail, bytes) {
  for (const { id, event, data: line } of eventsIn(bytes)) {
    tail.after = id ?? tail.after;
    if (event !== undefined || line === undefined) continue;
    if (!wheres[tail.where](JSON.parse(line))) {
      world.say(`a tail told what does not fit ${tail.where}`);
    }
    const { key, digest } = rowOfLine(line);
    const sent = world.records.sent(key, digest);
    if (sent === undefined) world.say(`a tail told ${key}, which nobody has sent so`);
    else tail.told.set(sent, (tail.told.get(sent) ?? 0) + 1);
  }
}

/** Server-sent events that came whole, each with its fields. */
function* eventsIn(bytes) {
  let fields = {};
  for (const line of linesOf(bytes)) {
    const [name] = line.split(': ', 1);
    if (line !== '') fields[name] = line.slice(name.length + 2);
    else {
      yield fields;
      fields = {};
    }
  }
}

/**
 * Reads all tails to their ends. Each record that is stored was told, and once unless it was erased and sent again. What an
 * older release has stored is not told.
 */
export async function judgeTails(world) {
  if (world.programs.length > 1) return;
  const asked = Object.keys(wheres);
  for (const [own, each] of world.records
    .tenants()
    .flatMap((own) => asked.map((one) => [own, one]))) {
    const tail = tailOf(world, own, each);
    const path = pathOf(own, tail, { follow: 'false' });
    const answer = await ask(world, 'tail', [200], 'GET', path, { timeoutMillis: 120_000 });
    if (answer === undefined) return;
    take(world, tail, answer.bytes);
    for (const content of world.records.stored({ tenant: own }).filter(wheres[each])) {
      const times = tail.told.get(content) ?? 0;
      const mayRepeat = world.records.wasErased(content);
      if (times === 0 || (times > 1 && !mayRepeat)) {
        world.say(`${content.key} was told ${times} times by a tail that was cut and resumed`);
      }
    }
  }
}
