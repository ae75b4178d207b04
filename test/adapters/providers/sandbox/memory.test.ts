/*
 * Goal: the sandbox remembers tasks in bounded memory and for bounded time, and refuses what it cannot use.
 * Method: the constant picture (its size is known) under small limits, on a clock that only the test moves.
 */
import { expect } from 'chai';
import sharp from 'sharp';
import { CONSTANT_PNG, SandboxProvider } from '../../../../adapters/providers/sandbox/sandbox-provider.js';
import { TASK_CACHE_LIMITS } from '../../../../adapters/providers/sandbox/tasks.js';
import type { JsonObject } from '../../../../core/json.js';
import { bytesOf, reportsUntilOver, submitted } from '../../../contracts/provider.contract.js';
import { render } from './render.js';
import { HandClock, task } from './tasks.js';

describe('Sandbox memory', () => {
  const clock = new HandClock();
  const noop = (token: string): ReturnType<typeof task> => task({ token, painter: 'noop' });

  it('delivers the constant picture immediately, n times', async () => {
    const provider = new SandboxProvider({ clock });
    const [first, second, none] = await render(provider, { painter: 'noop', parameters: { n: 2 } });
    expect(first!.equals(CONSTANT_PNG) && second!.equals(CONSTANT_PNG)).to.equal(true);
    expect(none).to.equal(undefined);
    expect((await sharp(first).raw().toBuffer({ resolveWithObject: true })).info.width).to.equal(8);
  });

  it('keeps no more bytes than it may: the oldest task is forgotten first', async () => {
    const provider = new SandboxProvider({ clock, limits: { maxBytes: 3 * CONSTANT_PNG.byteLength } });
    for (let index = 0; index < 10; index += 1) {
      await submitted(provider, noop(`${index}`));
      expect(provider.heldBytes).to.be.at.most(3 * CONSTANT_PNG.byteLength);
    }
    expect((await provider.poll('sandbox:6')).state).to.equal('unknown');
    expect((await provider.poll('sandbox:7')).state).to.equal('succeeded');
  });

  it('keeps no more finished tasks than it may', async () => {
    const provider = new SandboxProvider({ clock, limits: { maxFinished: 2 } });
    for (const token of ['a', 'b', 'c']) await submitted(provider, noop(token));
    expect((await provider.poll('sandbox:a')).state).to.equal('unknown');
    expect((await provider.poll('sandbox:b')).state).to.equal('succeeded');
  });

  it('forgets a task some time after it was read, and an unread one later', async () => {
    const provider = new SandboxProvider({ clock });
    const read = await submitted(provider, noop('read'));
    const unread = await submitted(provider, noop('unread'));
    await bytesOf(provider.output(read, 0));
    clock.advance(TASK_CACHE_LIMITS.keepMs.read - 1);
    expect((await provider.poll(read)).state).to.equal('succeeded');
    clock.advance(1);
    expect((await provider.poll(read)).state).to.equal('unknown');
    expect((await provider.poll(unread)).state).to.equal('succeeded');
    clock.advance(TASK_CACHE_LIMITS.keepMs.unread);
    expect((await provider.poll(unread)).state).to.equal('unknown');
    expect(provider.heldBytes).to.equal(0);
  });

  it('takes a bounded number of open tasks', async () => {
    const provider = new SandboxProvider({ clock, limits: { maxOpen: 2 } });
    const hang = (token: string): ReturnType<typeof task> =>
      task({ token, painter: 'test', parameters: { behaviour: 'hang' } });
    const first = await submitted(provider, hang('1'));
    await submitted(provider, hang('2'));
    const answer = await provider.submit(hang('3'));
    expect(answer.accepted || answer.failure.mayRetry).to.equal(true);
    expect(answer.accepted).to.equal(false);
    await provider.cancel(first);
    await submitted(provider, hang('3'));
  });

  it('forgets all tasks at a restart', async () => {
    const before = new SandboxProvider({ clock });
    const reference = await submitted(before, noop('old'));
    await before.close();
    const after = new SandboxProvider({ clock });
    expect(await after.poll(reference)).to.deep.equal({ state: 'unknown' });
    expect(await after.recover('old')).to.deep.equal({ found: false });
  });

  it('queues tasks: more tasks than threads all succeed', async () => {
    const provider = new SandboxProvider({ clock, threads: 2 });
    const tasks = ['1', '2', '3', '4', '5'].map((token) =>
      task({ token, painter: 'test', parameters: { size: '128x128' } }),
    );
    const ends = await Promise.all(
      tasks.map(async (each) => {
        const reference = await submitted(provider, each);
        return (await reportsUntilOver(provider, reference, each)).at(-1)!.state;
      }),
    );
    expect(ends).to.deep.equal(tasks.map(() => 'succeeded'));
    await provider.close();
  });

  const faults: [string, JsonObject, JsonObject, RegExp][] = [
    ['an unknown painter', { painter: 'oils' }, {}, /painter must be one of image, video, noop, test/],
    ['an unknown setting', { painter: 'image', gpu: true }, {}, /"gpu" is unknown/],
    ['a size that is not one', { painter: 'image' }, { size: 'huge' }, /size must be WIDTHxHEIGHT/],
    ['an odd size', { painter: 'video' }, { size: '255x256' }, /even numbers/],
    ['too many outputs', { painter: 'image' }, { n: 5 }, /n must be a whole number from 1 to 4/],
    ['a seed that is text', { painter: 'image' }, { seed: '7' }, /seed must be a whole number/],
    ['an unknown format', { painter: 'image' }, { format: 'svg' }, /format must be one of png, jpeg, webp/],
  ];
  for (const [what, settings, parameters, message] of faults) {
    it(`refuses ${what} in one sentence`, async () => {
      const provider = new SandboxProvider({ clock });
      const answer = await provider.submit({ ...task({ parameters }), settings });
      if (answer.accepted) throw new Error('The task was accepted.');
      expect(answer.failure.mayRetry).to.equal(false);
      expect(answer.failure.message).to.match(message);
    });
  }
});
