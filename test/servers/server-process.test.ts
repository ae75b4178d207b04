/**
 * Goal: a server of a test's own can be killed, paused and started again without losing what it has acknowledged.
 * Method: each kind of server goes through these steps; after each one the test checks that it answers and what it has
 * stored.
 */
import { expect } from 'chai';
import { MongoClient } from 'mongodb';
import { connect } from 'node:net';
import { MONGO_KINDS, S3_KINDS } from '../harness/store-pairs.js';
import { orSkip } from './servers.js';
import { s3Client } from './readiness.js';
import type { ServerKind } from './server-kinds.js';
import { ServerProcess } from './server-process.js';

const KINDS: readonly ServerKind[] = [...MONGO_KINDS.map((kind) => `mongo-${kind}` as const), ...S3_KINDS, 'toxiproxy'];

for (const kind of KINDS) {
  describe(`${kind}, owned by a test`, () => {
    let server: ServerProcess;

    before(async function () {
      server = await orSkip(this, ServerProcess.start(kind));
    });
    after(() => server?.stop());

    it('comes back from SIGKILL on the same port, with what it acknowledged', async () => {
      const { url, pid } = server;
      await remember(server);
      await server.kill();
      expect(server.pid).to.equal(undefined);
      expect(await isListening(server.port)).to.equal(false);
      await server.restart();
      expect(server.url).to.equal(url);
      expect(server.pid).not.to.equal(pid);
      expect(await remembers(server)).to.equal(true);
    });

    it('restarts gracefully while it runs', async () => {
      const { pid } = server;
      await server.restart();
      expect(server.pid).not.to.equal(pid);
      expect(await isListening(server.port)).to.equal(true);
    });

    it('accepts connections while it is paused, and answers when it continues', async () => {
      await server.pause();
      expect(await isListening(server.port)).to.equal(true);
      let hasAnswered = false;
      const answer = answers(server).finally(() => {
        hasAnswered = true;
      });
      // The system still accepts connections for it meanwhile, but a paused process answers none of them.
      for (let more = 0; more < 20; more += 1) expect(await isListening(server.port)).to.equal(true);
      expect(hasAnswered).to.equal(false);
      server.resume();
      await answer;
    });

    it('reports how it ended when another process has ended it', async () => {
      const ended = server.untilEnded();
      process.kill(server.pid ?? 0, 'SIGKILL');
      expect(await ended).to.equal('SIGKILL');
      await server.restart();
    });

    it('can be stopped while it is paused', async () => {
      const paused = await ServerProcess.start(kind);
      await paused.pause();
      await paused.stop();
      expect(paused.pid).to.equal(undefined);
      expect(await isListening(paused.port)).to.equal(false);
    });

    it('uses its own port beside another', async () => {
      const other = await ServerProcess.start(kind, { port: server.port });
      expect(other.port).not.to.equal(server.port);
      await other.stop();
    });
  });
}

/** Writes something that the server then acknowledges; a proxy has nothing to remember. */
async function remember(server: ServerProcess): Promise<void> {
  if (server.kind === 'toxiproxy') return;
  if (server.kind === 'minio' || server.kind === 'versitygw') {
    await s3Client(server.s3).makeBucket('memory', server.s3.region);
    await s3Client(server.s3).putObject('memory', 'thing', Buffer.from('bytes'));
  } else {
    await withMongo(server, (client) =>
      client
        .db('memory')
        .collection('things')
        .insertOne({ name: 'thing' }, { writeConcern: { w: 'majority', journal: true } }),
    );
  }
}

/** Resolves with the server's answer to any request. */
async function answers(server: ServerProcess): Promise<unknown> {
  if (server.kind === 'toxiproxy') return fetch(`${server.url}/version`);
  if (server.kind === 'minio' || server.kind === 'versitygw') return s3Client(server.s3).listBuckets();
  return withMongo(server, (client) => client.db('admin').command({ ping: 1 }));
}

async function remembers(server: ServerProcess): Promise<boolean> {
  if (server.kind === 'toxiproxy') return (await fetch(`${server.url}/version`)).ok;
  if (server.kind === 'minio' || server.kind === 'versitygw')
    return (await s3Client(server.s3).statObject('memory', 'thing')).size === 5;
  return withMongo(server, async (client) => (await client.db('memory').collection('things').countDocuments()) === 1);
}

async function withMongo<T>(server: ServerProcess, use: (client: MongoClient) => Promise<T>): Promise<T> {
  const client = new MongoClient(server.url);
  try {
    return await use(client);
  } finally {
    await client.close();
  }
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' });
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
