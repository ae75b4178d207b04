/*
 * Goal: progress comes from the server that has the task, never goes back, and nothing depends on it.
 * Method: a fake that waits at each node, and WebSockets that break, lie or are never there.
 */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import fc from 'fast-check';
import { NodesDone } from '../../../../adapters/providers/comfyui/nodes-done.js';
import type { Submission } from '../../../../core/ports/provider.js';
import { reportsUntilOver, submitted, WANTED } from '../../../contracts/provider.contract.js';
import type { WebSocketPeer } from '../../../providers/fakes/web-socket-peer.js';
import { openStudio, task, type Studio } from './opened-comfyui.js';

describe('the progress of ComfyUI tasks', () => {
  let studio: Studio;
  beforeEach(async () => void (studio = await openStudio()));
  afterEach(() => studio.close());

  async function progressOf(taken: string, submission: Submission): Promise<number | undefined> {
    const report = await studio.provider.poll(taken, submission.settings, WANTED);
    return report.state === 'running' ? report.progress : undefined;
  }

  /** Submits, and waits for the WebSocket. */
  async function begun(): Promise<{ taken: string; submission: Submission; socket: WebSocketPeer }> {
    const { provider, fake } = studio;
    fake.queue.isStepped = true;
    fake.queue.isHeld = true;
    const submission = task();
    const taken = await submitted(provider, submission);
    while (fake.sockets.size === 0) await sleep(1);
    fake.queue.release();
    return { taken, submission, socket: [...fake.sockets.values()][0]! };
  }

  async function until(taken: string, submission: Submission, isReached: (share: number | undefined) => boolean) {
    for (;;) {
      const share = await progressOf(taken, submission);
      if (isReached(share)) return share;
      await sleep(1);
    }
  }

  it('rises with the nodes that are done', async () => {
    const { taken, submission } = await begun();
    await until(taken, submission, (share) => share === 0);
    studio.fake.queue.step();
    await until(taken, submission, (share) => share === 0.5);
    studio.fake.queue.step();
    const last = (await reportsUntilOver(studio.provider, taken, submission)).at(-1)!;
    expect(last.state).to.equal('succeeded');
  });

  it('closes its connection when no task is left, and opens another for the next one', async () => {
    const { taken, submission, socket } = await begun();
    studio.fake.queue.isStepped = false;
    studio.fake.queue.step();
    const closed = new Promise<void>((resolve) => socket.onClose(resolve));
    await reportsUntilOver(studio.provider, taken, submission);
    await closed;
    studio.fake.sockets.clear();
    await submitted(studio.provider, task());
    while (studio.fake.sockets.size === 0) await sleep(1);
  });

  for (const [what, harm] of [
    ['is cut', (socket: WebSocketPeer) => socket.cut()],
    ['is closed', (socket: WebSocketPeer) => socket.close()],
    ['sends what is no JSON', (socket: WebSocketPeer) => socket.send('{')],
    ['sends pictures', (socket: WebSocketPeer) => socket.send(new Uint8Array(70_000))],
    ['sends no frames', (socket: WebSocketPeer) => socket.sendRaw(new Uint8Array(64).fill(255))],
    ['sends null', (socket: WebSocketPeer) => socket.send('null')],
    [
      'speaks of other tasks',
      (socket: WebSocketPeer) => socket.send('{"type":"progress_state","data":{"prompt_id":"x","nodes":{}}}'),
    ],
  ] as const)
    it(`is not needed when the connection ${what}`, async () => {
      const { taken, submission, socket } = await begun();
      harm(socket);
      studio.fake.queue.isStepped = false;
      studio.fake.queue.step();
      const last = (await reportsUntilOver(studio.provider, taken, submission)).at(-1)!;
      expect(last.state).to.equal('succeeded');
    });

  it('is nothing in another process', async () => {
    const { taken, submission } = await begun();
    await until(taken, submission, (share) => share !== undefined);
    const report = await studio.another().poll(taken, submission.settings, WANTED);
    expect(report).to.deep.equal({ state: 'running' });
  });

  it('holds no process back once the provider is closed', async () => {
    const { socket } = await begun();
    const closed = new Promise<void>((resolve) => socket.onClose(resolve));
    await studio.provider.close();
    await closed;
  });

  it('holds neither a task nor a stop where the server never answers the upgrade', async () => {
    const { provider, fake } = studio;
    fake.leavesUpgrades = true;
    const submission = task();
    const taken = await submitted(provider, submission);
    const last = (await reportsUntilOver(provider, taken, submission)).at(-1)!;
    expect(last.state).to.equal('succeeded');
    fake.queue.isHeld = true;
    await submitted(provider, task());
    while (fake.leftUpgrades.length < 2) await sleep(1);
    const left = Promise.all(fake.leftUpgrades.map(async (socket) => socket.readableEnded || once(socket, 'end')));
    await provider.close();
    await left;
  });

  it('holds neither a task nor a stop where the server never closes', async () => {
    const { taken, submission, socket } = await begun();
    socket.isDeaf = true;
    const closed = new Promise<void>((resolve) => socket.onClose(resolve));
    await studio.provider.cancel(taken, submission.settings, WANTED);
    const last = (await reportsUntilOver(studio.provider, taken, submission)).at(-1)!;
    expect(last.state).to.equal('cancelled');
    await studio.provider.close();
    await closed;
  });

  it('never goes back and never reaches the end, whatever is said', () => {
    const states = fc.record({
      state: fc.constantFrom('running', 'finished', 'pending'),
      value: fc.double(),
      max: fc.double(),
    });
    const message = fc.oneof(
      fc.record({
        type: fc.constant('progress_state'),
        data: fc.record({ nodes: fc.dictionary(fc.constantFrom('1', '2', '3', '4', '5'), states) }),
      }),
      fc.record({
        type: fc.constant('execution_cached'),
        data: fc.record({ nodes: fc.array(fc.constantFrom('1', '2', '9')) }),
      }),
      fc.jsonValue(),
    );
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 5 }), fc.array(message), (nodes, messages) => {
        const done = new NodesDone(nodes);
        let before = 0;
        for (const one of messages) {
          done.hear(one);
          const share = done.share ?? 0;
          expect(share).to.be.within(before, 0.99);
          before = share;
        }
      }),
    );
  });
});
