/**
 * Goal: a test gets servers that work, one of each kind a process, and places on them that nobody else uses.
 * Method: use every kind for what it is there for: write and read, and pass bytes through.
 */
import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import { MongoClient } from 'mongodb';
import { MONGO_KINDS, S3_KINDS } from '../harness/store-pairs.js';
import { freshBucket, freshDatabase } from './fresh-places.js';
import { s3Client } from './readiness.js';
import {
  mongoServer,
  orSkip,
  s3Server,
  sdServer,
  toxiproxyServer,
  type MongoServer,
  type S3Server,
} from './servers.js';

for (const kind of MONGO_KINDS) {
  describe(`MongoDB as ${kind}`, () => {
    let server: MongoServer;

    before(async function () {
      server = await orSkip(this, mongoServer(kind));
    });

    it('is one a process', async () => {
      expect(await mongoServer(kind)).to.equal(server);
    });

    it('reports its kind', async () => {
      const client = new MongoClient(server.url);
      try {
        const { setName } = await client.db('admin').command({ hello: 1 });
        if (kind === 'standalone') expect(setName).to.equal(undefined);
        else expect(setName).to.be.a('string');
      } finally {
        await client.close();
      }
    });

    it('gives databases that leave nothing behind', async () => {
      const place = freshDatabase(server);
      const other = freshDatabase(server);
      const client = new MongoClient(place.url);
      try {
        await client.db(place.database).collection('things').insertOne({ name: 'one' });
        expect(await client.db(place.database).collection('things').countDocuments()).to.equal(1);
        expect(await client.db(other.database).collection('things').countDocuments()).to.equal(0);
        await place.drop();
        const { databases } = await client.db('admin').admin().listDatabases();
        expect(databases.map(({ name }) => name)).not.to.include(place.database);
      } finally {
        await client.close();
      }
    });
  });
}

for (const kind of S3_KINDS) {
  describe(`S3 as ${kind}`, () => {
    let server: S3Server;

    before(async function () {
      server = await orSkip(this, s3Server(kind));
    });

    it('is one a process', async () => {
      expect(await s3Server(kind)).to.equal(server);
    });

    it('gives buckets that leave nothing behind', async () => {
      const place = freshBucket(server);
      const client = s3Client(server);
      await client.makeBucket(place.bucket, place.region);
      await client.putObject(place.bucket, 'a/b', Buffer.from('bytes'));
      expect((await client.statObject(place.bucket, 'a/b')).size).to.equal(5);
      await place.remove();
      expect(await client.bucketExists(place.bucket)).to.equal(false);
      await place.remove();
    });
  });
}

describe('toxiproxy', () => {
  it('serves its interface', async function () {
    const { url } = await orSkip(this, toxiproxyServer());
    expect(await (await fetch(`${url}/proxies`)).json()).to.be.an('object');
  });
});

describe('stable-diffusion.cpp', () => {
  it('makes a picture of nothing', async function () {
    const { url } = await orSkip(this, sdServer());
    const accepted = await fetch(`${url}/sdcpp/v1/img_gen`, {
      method: 'POST',
      body: JSON.stringify({ prompt: 'anything', width: 64, height: 64, sample_params: { sample_steps: 1 } }),
    });
    expect(accepted.status).to.equal(202);
    const { poll_url: address } = (await accepted.json()) as { readonly poll_url: string };
    const { result } = await untilCompleted(`${url}${address}`);
    expect(
      Buffer.from(result.images[0]?.b64_json ?? '', 'base64')
        .subarray(1, 4)
        .toString(),
    ).to.equal('PNG');
  });
});

interface CompletedJob {
  readonly status: string;
  readonly result: { readonly images: readonly { readonly b64_json: string }[] };
}

/** Mocha's own limit ends it for a job that never completes. */
async function untilCompleted(address: string): Promise<CompletedJob> {
  for (;;) {
    const job = (await (await fetch(address)).json()) as CompletedJob;
    if (job.status === 'completed') return job;
    if (job.status === 'failed') throw new Error('The job failed.');
    await sleep(20);
  }
}
