import { FakeServer, type FakeAnswer, type FakeRequest, type FakeRoute } from '../fakes/fake-server.js';

/**
 * - `by-token`: the client names the task, and a name is taken once;
 * - `by-id`: the vendor names it, and cannot be asked otherwise; references are uploaded before;
 * - `immediate`: the answer to the submission has the pictures.
 */
export type ReferenceKind = 'by-token' | 'by-id' | 'immediate';

export const REFERENCE_KEY = 'reference-key-0451';

/** The smallest PNG: one pixel. */
export const REFERENCE_PICTURE = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

interface ReferenceTask {
  readonly prompt: string;
  readonly count: number;
  state: 'queued' | 'running' | 'succeeded' | 'failed' | 'cancelled';
}

/**
 * A vendor with the fewest possible routes. The prompt of a task determines its outcome: `endless` runs until it is
 * cancelled, `queued` waits until then, `withheld` fails, `half` delivers half of its pictures; any other runs for one
 * poll and succeeds.
 */
export class ReferenceFake {
  private readonly taskById = new Map<string, ReferenceTask>();

  private constructor(
    readonly server: FakeServer,
    routes: FakeRoute[],
    private readonly kind: ReferenceKind,
  ) {
    routes.push(...this.served());
  }

  static async open(kind: ReferenceKind): Promise<ReferenceFake> {
    const routes: FakeRoute[] = [];
    return new ReferenceFake(await FakeServer.open(routes), routes, kind);
  }

  get tasks(): number {
    return this.taskById.size;
  }

  private served(): FakeRoute[] {
    const asked = (handle: (request: FakeRequest) => FakeAnswer) => (request: FakeRequest) =>
      request.headers.authorization === `Bearer ${REFERENCE_KEY}` ? handle(request) : refusal(401, 'bad_key');
    return [
      { method: 'POST', path: '/tasks', of: 'submit', handle: asked((request) => this.submit(request)) },
      { method: 'POST', path: '/files', of: 'upload', handle: asked(() => ({ status: 201, json: { id: 'file-1' } })) },
      { method: 'GET', path: '/tasks/:id', of: ['poll', 'recover'], handle: asked((request) => this.look(request)) },
      {
        method: 'GET',
        path: '/tasks/:id/pictures/:index',
        of: 'output',
        handle: asked((request) => this.picture(request)),
      },
      { method: 'DELETE', path: '/tasks/:id', of: 'cancel', handle: asked((request) => this.cancel(request)) },
      {
        method: 'GET',
        path: '/about',
        of: 'check',
        handle: asked(() => ({ json: { name: 'reference', version: '1' } })),
      },
    ];
  }

  private submit(request: FakeRequest): FakeAnswer {
    const { token, prompt, count } = request.json() as { token?: string; prompt: string; count: number };
    const id = this.kind === 'by-token' ? (token ?? '') : `task-${this.taskById.size + 1}`;
    if (this.kind === 'immediate' && prompt === 'withheld') return refusal(422, 'picture_withheld');
    if (!this.taskById.has(id))
      this.taskById.set(id, { prompt, count, state: prompt === 'queued' ? 'queued' : 'running' });
    if (this.kind !== 'immediate') return { status: 202, json: { id } };
    const made = prompt === 'half' ? count / 2 : count;
    return {
      json: { pictures: Array.from({ length: made }, () => REFERENCE_PICTURE.toString('base64')), seconds: 1.5 },
    };
  }

  private look({ params }: FakeRequest): FakeAnswer {
    const task = this.taskById.get(params['id'] ?? '');
    if (task === undefined) return refusal(404, 'no_such_task');
    const { state, prompt, count } = task;
    if (state === 'running' && prompt !== 'endless') task.state = prompt === 'withheld' ? 'failed' : 'succeeded';
    const pictures = prompt === 'half' ? count / 2 : count;
    return { json: { status: state, ...(state === 'succeeded' ? { pictures, seconds: 1.5 } : {}) } };
  }

  private picture({ params }: FakeRequest): FakeAnswer {
    const task = this.taskById.get(params['id'] ?? '');
    const isMade = task?.state === 'succeeded' && Number(params['index']) < task.count;
    return isMade
      ? { headers: { 'content-type': 'image/png' }, body: REFERENCE_PICTURE }
      : refusal(404, 'no_such_picture');
  }

  private cancel({ params }: FakeRequest): FakeAnswer {
    const task = this.taskById.get(params['id'] ?? '');
    if (task === undefined) return refusal(404, 'no_such_task');
    const isStopped = task.state === 'queued' || (task.state === 'running' && this.kind === 'by-token');
    if (isStopped) task.state = 'cancelled';
    return { status: isStopped ? 204 : 409 };
  }
}

export function refusal(status: number, code: string): FakeAnswer {
  return { status, json: refusalBody(code) };
}

export function refusalBody(code: string): object {
  return { error: { code, message: `The reference vendor says ${code} at http://10.1.2.3/internal/path.` } };
}
