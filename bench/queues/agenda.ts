import { MongoBackend } from '@agendajs/mongo-backend';
import { Agenda, type Job } from 'agenda';
import { MongoClient } from 'mongodb';
import type { JobQueue } from './job-queue.js';

const NAME = 'job';

/**
 * Agenda as it comes, but for how many jobs run at once: it asks the database every five seconds, and keeps jobs that
 * are done.
 */
export async function openAgenda({
  url,
  database,
  concurrency,
}: {
  readonly url: string;
  readonly database: string;
  readonly concurrency: number;
}): Promise<JobQueue> {
  const client = await MongoClient.connect(url, { writeConcern: { w: 'majority', journal: true } });
  const agenda = new Agenda({
    backend: new MongoBackend({ mongo: client.db(database), ensureIndex: true }),
    maxConcurrency: concurrency,
  });
  agenda.on('error', (error) => console.error(error));
  await agenda.ready;
  return {
    add: async (id) => void (await agenda.now(NAME, { id })),
    async work({ started, ended }) {
      agenda.define(
        NAME,
        (job: Job<{ id: string }>, done) => {
          started(job.attrs.data.id);
          done();
        },
        { concurrency },
      );
      agenda.on('complete', ended);
      await agenda.start();
    },
    async close() {
      await agenda.stop();
      await client.close();
    },
  };
}
