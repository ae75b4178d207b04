/** One request, and the answer that a real sd-server gave to it. */
export interface Exchange {
  readonly name: string;
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: string;
  readonly answer: {
    readonly status: number;
    /** Absent where the server declares none. */
    readonly type?: 'application/json';
    /** With `<id>`, `<time>`, `<base64>`, `<waits>` and `<why>` for what differs from time to time. */
    readonly text: string;
  };
}

const JSON_TYPE = 'application/json';

/** What is asked for: the smallest picture there is. */
export const SMALL = {
  prompt: 'a lighthouse',
  width: 64,
  height: 64,
  seed: 1,
  embed_image_metadata: false,
  sample_params: { sample_steps: 1, guidance: { txt_cfg: 1 } },
};

export const ACCEPTED: Exchange['answer'] = {
  status: 202,
  type: JSON_TYPE,
  text: '{"created":<time>,"id":"<id>","kind":"img_gen","poll_url":"/sdcpp/v1/jobs/<id>","status":"<waits>"}',
};

/** The states of a job, in the order of its life. */
export const JOB = {
  queued:
    '{"completed":null,"created":<time>,"error":null,"id":"<id>","kind":"img_gen","queue_position":1,"result":null,"started":null,"status":"queued"}',
  generating:
    '{"completed":null,"created":<time>,"error":null,"id":"<id>","kind":"img_gen","queue_position":0,"result":null,"started":<time>,"status":"generating"}',
  completed:
    '{"completed":<time>,"created":<time>,"error":null,"id":"<id>","kind":"img_gen","queue_position":0,"result":{"images":[{"b64_json":"<base64>","index":0}],"output_format":"png"},"started":<time>,"status":"completed"}',
  cancelled:
    '{"completed":<time>,"created":<time>,"error":{"code":"cancelled","message":"job cancelled by client"},"id":"<id>","kind":"img_gen","queue_position":0,"result":null,"started":null,"status":"cancelled"}',
} as const;

export const NOT_CANCELLED = '{"error":"job is currently generating and cannot be interrupted yet"}';
export const FULL = '{"error":"job queue is full"}';

/** What is refused, each by itself; in version 0.4.7 of the package that the tests build. */
export const REFUSALS: readonly Exchange[] = [
  submission('no body', '', 400, '{"error":"empty body"}'),
  submission('half a body', '{', 400, '{"error":"invalid json","message":"<why>"}'),
  submission('an unknown format', smallWith({ output_format: 'gif' }), 400, invalidFormat()),
  submission(
    'a format that is no text',
    smallWith({ output_format: 3 }),
    500,
    '{"error":"server_error","message":"<why>"}',
  ),
  submission('a strength above 1', smallWith({ strength: 2 }), 400, invalidParameters()),
  submission('an unreadable first picture', smallWith({ init_image: 'AAAA' }), 400, invalidParameters()),
  submission('an unreadable reference', smallWith({ ref_images: ['AAAA'] }), 400, invalidParameters()),
  submission('an unknown LoRA', smallWith({ lora: [{ path: 'nothing', multiplier: 1 }] }), 400, invalidParameters()),
  {
    name: 'a video of a model for pictures',
    method: 'POST',
    path: '/sdcpp/v1/vid_gen',
    body: smallWith({}),
    answer: { status: 400, type: JSON_TYPE, text: '{"error":"loaded model does not support vid_gen"}' },
  },
  {
    name: 'the state of an unknown job',
    method: 'GET',
    path: '/sdcpp/v1/jobs/job_0_00000000',
    answer: { status: 404, type: JSON_TYPE, text: '{"error":"job not found"}' },
  },
  {
    name: 'the cancel of an unknown job',
    method: 'POST',
    path: '/sdcpp/v1/jobs/job_0_00000000/cancel',
    answer: { status: 404, type: JSON_TYPE, text: '{"error":"job not found"}' },
  },
  { name: 'an id that is none', method: 'GET', path: '/sdcpp/v1/jobs/a.b', answer: { status: 404, text: '' } },
  { name: 'an unknown route', method: 'GET', path: '/sdcpp/v1/nothing', answer: { status: 404, text: '' } },
];

/**
 * Fields that are wrong, and taken: the sides are rounded up to multiples of 64, steps are moved into 1 to 100, and the
 * sampler is the server's own. Settings within the prompt are a part of it here.
 */
export const TAKEN_ANYWAY = {
  prompt: 'a <sd_cpp_extra_args>{"height":256}</sd_cpp_extra_args>',
  width: 65,
  sample_params: { sample_steps: 0, sample_method: 'nonsense', guidance: { txt_cfg: 1 } },
};

/** The text with marks for what differs from time to time. */
export function marked(text: string): string {
  return text
    .replaceAll(/job_[0-9a-f]+_[0-9a-f]{8}/g, '<id>')
    .replaceAll(/"(completed|created|started)":\d{9,}/g, '"$1":<time>')
    .replaceAll(/"b64_json":"[A-Za-z0-9+/]+=*"/g, '"b64_json":"<base64>"')
    .replaceAll(/"message":"\[json\.[^"]*(?:\\"[^"]*)*"/g, '"message":"<why>"')
    .replace(/("poll_url":"[^"]*","status":)"(?:queued|generating)"/, '$1"<waits>"');
}

function submission(name: string, body: string, status: number, text: string): Exchange {
  return { name, method: 'POST', path: '/sdcpp/v1/img_gen', body, answer: { status, type: JSON_TYPE, text } };
}

function smallWith(fields: object): string {
  return JSON.stringify({ ...SMALL, ...fields });
}

function invalidFormat(): string {
  return '{"error":"invalid output_format, must be one of [png, jpeg, webp]"}';
}

function invalidParameters(): string {
  return '{"error":"invalid generation parameters"}';
}
