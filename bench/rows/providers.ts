import type { Child } from '../child.js';
import { comparisonOf, measureInTurn, middle, Side, type Comparison, type Measured } from '../compare.js';
import { megabytes, micros, ratioText, type Row } from '../report.js';
import type { Run } from '../run.js';
import type { BareFetchCommands } from '../servers/bare-fetch.js';
import type { ImageUpstreamCommands } from '../servers/image-upstream.js';
import type { VideoUpstreamCommands } from '../servers/video-upstream.js';
import { pictureRequest, type PictureModel } from '../servers/picture-model.js';
import type { Usage } from '../usage.js';
import { startPictures } from './picture-program.js';
import { burst } from './workers.js';

/** The slots of our model, and the concurrency of the control. */
const AT_ONCE = 8;

/** Pictures of 1 MB, 2 MB and 20 MB. Fewer are made of the larger ones. */
const PICTURES = [
  { size: '1024x1024', share: 1 },
  { size: '1408x1344', share: 0.5 },
  { size: '4352x4224', share: 0.16 },
] as const;

/**
 * A server has its video made in parts, but a network and a disk are shared: more concurrency would not be faster.
 */
const VIDEOS_AT_ONCE = 2;
const VIDEO_BYTES = 200_000_000;
/** The size of the frames, whose content is not examined. */
const VIDEO_SIZE = '64x48';

/** One of the two sides. */
interface Contestant {
  readonly child: Child<{ usage(): Usage }>;
  /** Makes this number of outputs, with as much concurrency as the model has slots. */
  make(count: number): Promise<Measured>;
}

interface Measuring {
  readonly model: PictureModel;
  readonly what: 'picture' | 'video';
  /** The size of one output. */
  readonly byteSize: number;
  /** The number of outputs in each slice, and of those that are made one after the other. */
  readonly many: number;
  readonly alone: number;
}

/**
 * Pictures of a server with OpenAI's Images API, and videos of one with the Videos API, from create to settled: made
 * by one process of the program, and compared with a process that fetches the same outputs from the same server and
 * writes them to files.
 */
export async function measureProviders(run: Run): Promise<Row[]> {
  const { pictures, picturesAlone } = run.sizes;
  const upstream: Child<ImageUpstreamCommands> = run.start('./servers/image-upstream.js');
  const port = await upstream.ask('listen', undefined);
  const rows: Row[] = [];
  for (const { size, share } of PICTURES) {
    rows.push(
      await measureOutputs(run, {
        what: 'picture',
        model: { baseUrl: `http://127.0.0.1:${port}/v1`, size, atOnce: AT_ONCE },
        byteSize: await upstream.ask('prepare', { size }),
        many: Math.ceil(pictures * share),
        alone: Math.ceil(picturesAlone * share),
      }),
    );
  }
  await upstream.stop();
  rows.push(await measureVideos(run));
  return rows;
}

async function measureVideos(run: Run): Promise<Row> {
  const { videos, videosAlone } = run.sizes;
  const upstream: Child<VideoUpstreamCommands> = run.start('./servers/video-upstream.js');
  const port = await upstream.ask('listen', undefined);
  const baseUrl = `http://127.0.0.1:${port}/v1`;
  const row = await measureOutputs(run, {
    what: 'video',
    model: { baseUrl, size: VIDEO_SIZE, atOnce: VIDEOS_AT_ONCE, modality: 'video' },
    byteSize: await upstream.ask('prepare', { byteSize: VIDEO_BYTES }),
    many: videos,
    alone: videosAlone,
  });
  await upstream.stop();
  return row;
}

async function measureOutputs(run: Run, measuring: Measuring): Promise<Row> {
  const { what, many, alone, byteSize, model } = measuring;
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
  return outputRow(`${what} of ${megabytes(byteSize)}`, model.atOnce, {
    atOnce: comparisonOf(...atOnce),
    inTurn: comparisonOf(...inTurn),
    peakRssBytes: { warm, end },
  });
}

/** So many, one after the other. */
async function makeInTurn(contestant: Contestant, count: number): Promise<Measured> {
  const slices: Measured[] = [];
  while (slices.length < count) slices.push(await contestant.make(1));
  const { cpuMicros, perSecond } = middle(slices);
  return { cpuMicros, perSecond, p50Micros: 1_000_000 / perSecond };
}

async function startOurs(run: Run, { model }: Measuring): Promise<Contestant & { checkDelivered(): Promise<void> }> {
  const program = await startPictures(run, model);
  let created = 0;
  return {
    child: program.working.front.child,
    make(count) {
      created += count;
      return burst(run, program.working, count);
    },
    checkDelivered: () => program.checkDelivered(created),
  };
}

function startControl(run: Run, { what, model: { baseUrl, size, atOnce } }: Measuring): Contestant {
  const child: Child<BareFetchCommands> = run.start('./servers/bare-fetch.js', [run.newFolder('fetched')]);
  return {
    child,
    async make(count) {
      const before = await child.ask('usage', undefined);
      const { elapsedMicros } = await child.ask(what === 'picture' ? 'fetchPictures' : 'fetchVideos', {
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

interface OutputFigures {
  readonly atOnce: Comparison;
  readonly inTurn: Comparison;
  readonly peakRssBytes: Readonly<Record<'warm' | 'end', Peaks>>;
}

function outputRow(name: string, atOnceCount: number, figures: OutputFigures): Row {
  const { atOnce, inTurn, peakRssBytes } = figures;
  const peaks = (side: 0 | 1) => [peakRssBytes.warm[side], peakRssBytes.end[side]].map(megabytes).join(' → ');
  const time = ({ p50Micros = Number.NaN }: Measured) => micros(p50Micros);
  return {
    name,
    lines: [
      {
        what: `${name}: CPU a generation, ${atOnceCount} at once`,
        measured: micros(atOnce.subject.cpuMicros),
        control: micros(atOnce.control.cpuMicros),
        ratio: ratioText(atOnce.cpu),
      },
      {
        what: `${name}: generations/s, ${atOnceCount} at once`,
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
