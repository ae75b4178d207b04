import type { Child } from '../child.js';
import { comparisonOf, measureInTurn, middle, Side, type Comparison, type Measured } from '../compare.js';
import { megabytes, micros, ratioText, type Row } from '../report.js';
import type { Run } from '../run.js';
import type { BareFetchCommands } from '../servers/bare-fetch.js';
import type { ImageUpstreamCommands } from '../servers/image-upstream.js';
import {
  configurePictures,
  createPictures,
  PICTURE_CREDITS,
  pictureRequest,
  type PictureModel,
} from '../servers/picture-model.js';
import { creditsRequests } from '../servers/sample.js';
import type { Usage } from '../usage.js';
import { burst, type Working } from './workers.js';

/** The places of our model, and the requests of the control. */
const AT_ONCE = 8;

/** Of 1 MB and of 20 MB. Of the latter, fewer are made. */
const PICTURES = [
  { size: '1024x1024', share: 1 },
  { size: '4352x4224', share: 0.16 },
] as const;

/** One of the two sides. */
interface Contestant {
  readonly child: Child<{ usage(): Usage }>;
  /** Makes so many pictures, at most `AT_ONCE` at a time. */
  make(count: number): Promise<Measured>;
}

interface Measuring {
  readonly model: PictureModel;
  /** Of one picture. */
  readonly byteSize: number;
  /** How many pictures are made in each slice, and how many of those that are made one after the other. */
  readonly many: number;
  readonly alone: number;
}

/**
 * Pictures of a server with the Images API of OpenAI, from create to settled: by one process of the program, beside a
 * process that fetches the same pictures from the same server and writes them into files.
 */
export async function measureProviders(run: Run): Promise<Row[]> {
  const { pictures, picturesAlone } = run.sizes;
  const upstream: Child<ImageUpstreamCommands> = run.start('./servers/image-upstream.js');
  const port = await upstream.ask('listen', undefined);
  const rows: Row[] = [];
  for (const { size, share } of PICTURES) {
    rows.push(
      await measurePictures(run, {
        model: { baseUrl: `http://127.0.0.1:${port}/v1`, size, atOnce: AT_ONCE },
        byteSize: await upstream.ask('prepare', { size }),
        many: Math.ceil(pictures * share),
        alone: Math.ceil(picturesAlone * share),
      }),
    );
  }
  await upstream.stop();
  return rows;
}

async function measurePictures(run: Run, measuring: Measuring): Promise<Row> {
  const { many, alone, byteSize } = measuring;
  const ours = await startOurs(run, measuring);
  const contestants = [ours, startControl(run, measuring)] as const;
  for (const contestant of contestants) await contestant.make(many);
  const warm = await peaksOf(contestants);
  const sidesOf = (measure: (contestant: Contestant) => Promise<Measured>) =>
    contestants.map((contestant) => new Side(() => measure(contestant))) as [ours: Side, control: Side];
  const atOnce = sidesOf((contestant) => contestant.make(many));
  const inTurn = sidesOf((contestant) => makeInTurn(contestant, alone));
  await measureInTurn([...atOnce, ...inTurn], run.sizes.rounds);
  const end = await peaksOf(contestants);
  await ours.checkDelivered();
  await Promise.all(contestants.map(({ child }) => child.stop()));
  return pictureRow(`picture of ${megabytes(byteSize)}`, {
    atOnce: comparisonOf(...atOnce),
    inTurn: comparisonOf(...inTurn),
    peakRssBytes: { warm, end },
  });
}

/** So many pictures, one after the other. */
async function makeInTurn(contestant: Contestant, count: number): Promise<Measured> {
  const slices: Measured[] = [];
  while (slices.length < count) slices.push(await contestant.make(1));
  const { cpuMicros, perSecond } = middle(slices);
  return { cpuMicros, perSecond, p50Micros: 1_000_000 / perSecond };
}

/** The program with a worker in it, and one account. */
async function startOurs(run: Run, { model }: Measuring): Promise<Contestant & { checkDelivered(): Promise<void> }> {
  const folder = run.newFolder('pictures');
  configurePictures(folder, model);
  const front = await run.startSubject(folder);
  await front.child.ask('startWorker', undefined);
  const { secret } = await front.child.ask('createCredential', undefined);
  const working: Working = { front, fronts: [front], secrets: [secret], kind: createPictures(model.size, secret) };
  const balance = async (): Promise<number> => {
    const answer = await run.load.ask('get', { port: front.port, kind: creditsRequests(secret) });
    return (JSON.parse(answer) as { readonly data: { readonly balance_credits: number } }).data.balance_credits;
  };
  const granted = await balance();
  let created = 0;
  return {
    child: front.child,
    make(count) {
      created += count;
      return burst(run, working, count);
    },
    /** A generation without a picture is settled too, but nothing is charged for it. */
    async checkDelivered() {
      const delivered = (granted - (await balance())) / PICTURE_CREDITS;
      if (delivered !== created) throw new Error(`Of ${created} pictures ${delivered} were delivered.`);
    },
  };
}

function startControl(run: Run, { model: { baseUrl, size, atOnce } }: Measuring): Contestant {
  const child: Child<BareFetchCommands> = run.start('./servers/bare-fetch.js', [run.newFolder('fetched')]);
  return {
    child,
    async make(count) {
      const before = await child.ask('usage', undefined);
      const { elapsedMicros } = await child.ask('fetchPictures', {
        baseUrl,
        request: pictureRequest(size),
        count,
        atOnce,
      });
      const after = await child.ask('usage', undefined);
      return {
        cpuMicros: (after.cpuMicros - before.cpuMicros) / count,
        perSecond: count / (elapsedMicros / 1_000_000),
      };
    },
  };
}

type Peaks = readonly [ours: number, control: number];

async function peaksOf(contestants: readonly [Contestant, Contestant]): Promise<Peaks> {
  const [ours, control] = contestants.map(({ child }) => child.ask('usage', undefined)) as [
    Promise<Usage>,
    Promise<Usage>,
  ];
  return [(await ours).peakRssBytes, (await control).peakRssBytes];
}

interface PictureFigures {
  readonly atOnce: Comparison;
  readonly inTurn: Comparison;
  readonly peakRssBytes: Readonly<Record<'warm' | 'end', Peaks>>;
}

function pictureRow(name: string, figures: PictureFigures): Row {
  const { atOnce, inTurn, peakRssBytes } = figures;
  const peaks = (side: 0 | 1) => [peakRssBytes.warm[side], peakRssBytes.end[side]].map(megabytes).join(' → ');
  const time = ({ p50Micros = Number.NaN }: Measured) => micros(p50Micros);
  return {
    name,
    lines: [
      {
        what: `${name}: CPU a generation, ${AT_ONCE} at once`,
        measured: micros(atOnce.subject.cpuMicros),
        control: micros(atOnce.control.cpuMicros),
        ratio: ratioText(atOnce.cpu),
      },
      {
        what: `${name}: generations/s, ${AT_ONCE} at once`,
        measured: atOnce.subject.perSecond.toFixed(1),
        control: atOnce.control.perSecond.toFixed(1),
        ratio: ratioText(atOnce.rate),
      },
      {
        what: `${name}: one at a time, each`,
        measured: time(inTurn.subject),
        control: time(inTurn.control),
      },
      {
        what: `${name}: peak memory (RSS), warm → at the end`,
        measured: peaks(0),
        control: peaks(1),
      },
    ],
    figures,
  };
}
