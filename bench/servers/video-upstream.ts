import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type LargeFile, largeMp4 } from '../../test/fixtures/large-media.js';
import { answerCommands } from '../child.js';
import { usageOfThisProcess } from '../usage.js';
import { listenLocally, localServer } from './local-server.js';

/**
 * A server with the Videos API of OpenAI, in a process of its own. A job is completed as soon as it is there, and every job has
 * the same video, which is made as it is sent.
 */
let video: LargeFile | undefined;
let jobs = 0;

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  for await (const _ of request);
  const [, id, part] = /^\/v1\/videos(?:\/([^/]+)(?:\/(content))?)?$/.exec(request.url ?? '') ?? [];
  if (part === 'content' && video !== undefined) {
    response.writeHead(200, { 'content-type': 'video/mp4', 'content-length': video.byteSize });
    for await (const piece of video.stream()) if (!response.write(piece)) await once(response, 'drain');
    response.end();
    return;
  }
  if (request.method === 'POST') jobs += 1;
  const job = { id: id ?? `video_${jobs}`, object: 'video', status: 'completed', progress: 100 };
  const answer = Buffer.from(JSON.stringify(job));
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': answer.byteLength });
  response.end(answer);
}

const server = localServer(serve);

const commands = {
  listen: () => listenLocally(server),
  /** Sets the approximate size of the video in bytes from now on; returns the exact size. */
  async prepare({ byteSize }: { readonly byteSize: number }): Promise<number> {
    video = await largeMp4(byteSize);
    return video.byteSize;
  },
  usage: usageOfThisProcess,
};

export type VideoUpstreamCommands = typeof commands;

answerCommands(commands, async () => {
  server.closeAllConnections();
});
