import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { until } from './wait.mjs';

/** The PostgreSQL in a data dir: asked over a connection each, because it is killed again and again. */
export function openDatabase(dataDir) {
  const cluster = join(dataDir, 'postgres');
  const password = readFileSync(join(cluster, 'svcctl-password'), 'utf8').trim();

  const urlOf = (name) => {
    const port = readFileSync(join(cluster, 'postmaster.pid'), 'utf8').split('\n')[3]?.trim();
    return `postgres://svcctl:${password}@127.0.0.1:${port}/${name}`;
  };
  const connect = async (name = 'svcctl') => {
    const connectionString = urlOf(name);
    const client = new pg.Client({ connectionString, application_name: 'chaos' });
    client.on('error', () => {});
    await client.connect();
    return client;
  };
  const ask = async (text) => {
    const client = await connect();
    try {
      const { rows } = await client.query(text);
      return rows;
    } finally {
      await client.end();
    }
  };
  return {
    /** A connection, to be ended by the caller. */
    connect,
    urlOf,
    /** A copy of it under another name, as it is at this moment: all its connections break by that. */
    async clone(name) {
      const client = await connect('postgres');
      try {
        await client.query('alter database svcctl with allow_connections false');
        await client.query(
          "select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = 'svcctl'",
        );
        await client.query(`create database ${name} template svcctl`);
      } finally {
        await client.query('alter database svcctl with allow_connections true');
        await client.end();
      }
    },
    async drop(name) {
      const client = await connect('postgres');
      try {
        await client.query(`drop database ${name} with (force)`);
      } finally {
        await client.end();
      }
    },
    /** Asks until it answers. */
    async rows(text) {
      const answer = await until('PostgreSQL', () =>
        ask(text).then(
          (rows) => ({ rows }),
          () => null,
        ),
      );
      return answer.rows;
    },
    /** The process that serves it now; undefined when none does. */
    postmaster() {
      try {
        return Number(readFileSync(join(cluster, 'postmaster.pid'), 'utf8').split('\n')[0]);
      } catch {
        return undefined;
      }
    },
  };
}
