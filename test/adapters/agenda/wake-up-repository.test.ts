// Goal: a process gives back the wake-ups that it holds and has not begun when it stops, and not sooner; a wake-up that
// Agenda has no slot for stays held.
// Method: the repository alone, without a consumer, so that the wake-ups it holds are never begun.
import { expect } from 'chai';
import type { Db } from 'mongodb';
import { WakeUpChannel } from '../../../adapters/agenda/wake-up-channel.js';
import { WakeUpCollection } from '../../../adapters/agenda/wake-up-collection.js';
import { WakeUpRepository } from '../../../adapters/agenda/wake-up-repository.js';
import { SystemClock } from '../../../adapters/system/system-clock.js';
import { uuidAt } from '../../fixtures/stored-records.js';
import { asked, onAgenda } from './on-agenda.js';

const clock = new SystemClock();

onAgenda('WakeUpRepository', (place) => {
  let db: Db;
  let wakeUps: WakeUpCollection;
  let repository: WakeUpRepository;

  beforeEach(() => {
    db = place.connect();
    wakeUps = new WakeUpCollection(asked(db), clock, 600_000);
    const channel = new WakeUpChannel({ db, clock, streams: false, pollMs: 1_000, onStreamLost: () => undefined });
    repository = new WakeUpRepository({
      db,
      clock,
      wakeUps,
      channel,
      onTrouble: (error) => {
        throw error;
      },
    });
  });
  afterEach(() => place.empty());

  it('hides what is held from others, and gives it back at the end', async () => {
    await repository.hold(uuidAt(1));
    expect(repository.heldCount).to.equal(1);
    expect(await wakeUps.take(clock.now())).to.equal(undefined);
    repository.close();
    await repository.handOver();
    expect(repository.heldCount).to.equal(0);
    expect(await wakeUps.take(clock.now())).to.include({ key: uuidAt(1) });
  });

  it('gives back immediately what it takes after it was closed', async () => {
    repository.close();
    await repository.hold(uuidAt(1));
    expect(repository.heldCount).to.equal(0);
    expect(await wakeUps.take(clock.now())).to.include({ key: uuidAt(1) });
  });

  it('ignores a late renewal of a wake-up that was given back', async () => {
    const held = await wakeUps.putHeld(uuidAt(1));
    await wakeUps.putBack(held, clock.now(), 3);
    await wakeUps.keep([held]);
    const taken = await wakeUps.take(clock.now());
    expect(taken).to.include({ key: uuidAt(1), failCount: 3 });
    expect(taken?.stamp).not.to.equal(held.stamp);
  });

  it('does not give back over a later schedule', async () => {
    await repository.hold(uuidAt(1));
    await wakeUps.put(uuidAt(1), clock.now() + 3_600_000);
    repository.close();
    await repository.handOver();
    expect(await wakeUps.take(clock.now())).to.equal(undefined);
  });
});
