/** How much of a check runs in `npm test` and in `npm run verify:all`. Zero means that it does not run. */
export interface RunSize {
  /** The counted unit, as a plural noun. */
  readonly of: string;
  readonly byDefault: number;
  readonly inFull: number;
}

/** Every check that `npm test` runs in part or leaves out. `docs/testing.md` contains the same table. */
export const RUN_SIZES = {
  simulationSeeds: { of: 'seeds of the simulation', byDefault: 6, inFull: 20_000 },
  playedMutants: { of: 'mutants played at their recorded seed', byDefault: 3, inFull: 190 },
  mutantSearches: { of: 'mutants searched for from the first seed', byDefault: 0, inFull: 190 },
  exhaustiveSearches: { of: 'searches of the small case', byDefault: 4, inFull: 40 },
  sequencesInMemory: { of: 'random sequences of steps in memory', byDefault: 18, inFull: 1_500 },
  sequencesOnSqlite: { of: 'random sequences of steps on SQLite and files', byDefault: 3, inFull: 25 },
  sequencesOnMongo: { of: 'random sequences of steps on MongoDB and S3', byDefault: 1, inFull: 4 },
  keptBytesInMemory: {
    of: 'random histories of what an account makes the service keep, in memory',
    byDefault: 25,
    inFull: 1_500,
  },
  keptBytesOnSqlite: {
    of: 'random histories of what an account makes the service keep, on SQLite and files',
    byDefault: 3,
    inFull: 15,
  },
  storeHistories: { of: 'random histories of port calls on every database', byDefault: 5, inFull: 300 },
  erasuresCut: { of: 'erasures whose process dies at a call of a store', byDefault: 4, inFull: 600 },
  createFaults: { of: 'kinds of faults at each store call of one create that is repeated', byDefault: 3, inFull: 7 },
  frontHistories: { of: 'random histories over both fronts', byDefault: 10, inFull: 600 },
  killRounds: { of: 'kills of the embedded service under load', byDefault: 2, inFull: 30 },
  faultRounds: { of: 'rounds of faults on five processes', byDefault: 1, inFull: 20 },
  postgresFaultRounds: { of: 'rounds of faults on five processes and PostgreSQL servers', byDefault: 0, inFull: 8 },
  asynchronousFailovers: {
    of: 'failovers of PostgreSQL with asynchronous replication, whose losses must be found',
    byDefault: 0,
    inFull: 1,
  },
  mixedFaultRounds: { of: 'rounds of faults on processes of two builds', byDefault: 0, inFull: 2 },
  killsOfWorkers: { of: 'kills of one worker of three, one every second', byDefault: 0, inFull: 12 },
  storePairs: { of: 'pairs of a MongoDB deployment and an S3 server', byDefault: 1, inFull: 2 },
  postgresLanes: { of: 'ways to PostgreSQL: version 18, version 15, and 18 behind PgBouncer', byDefault: 1, inFull: 3 },
  upgradedLanes: { of: 'sets of adapters upgraded from the release before', byDefault: 0, inFull: 3 },
  copiedLanes: { of: 'sets of adapters copied to PostgreSQL while work is open', byDefault: 1, inFull: 2 },
  searchLanes: { of: 'sets of adapters with the index of searches and with thumbnails', byDefault: 1, inFull: 4 },
  historyLanes: { of: 'sets of adapters that play one history', byDefault: 2, inFull: 4 },
  vectorLanes: { of: 'sets of adapters on which the started service answers the vectors', byDefault: 0, inFull: 4 },
  openAiLanes: {
    of: 'sets of adapters on which the started service serves the library of OpenAI',
    byDefault: 1,
    inFull: 3,
  },
  sharedOpenAiLanes: {
    of: 'distributed sets of adapters on which two processes serve clients of OpenAI',
    byDefault: 1,
    inFull: 3,
  },
  deniedRights: { of: 'rights taken from a data folder, each tried with two commands', byDefault: 1, inFull: 7 },
  decodedGenerations: { of: 'concurrent generations whose references are decoded', byDefault: 3, inFull: 8 },
  videoMebibytes: { of: 'mebibytes of the video that passes in little memory', byDefault: 64, inFull: 200 },
  stopSignals: { of: 'pairs of signals that stop the service at once', byDefault: 1, inFull: 3 },
  pageLooks: {
    of: 'looks of each state of a page that axe checks: wide and light, narrow and dark',
    byDefault: 1,
    inFull: 2,
  },
  modelServers: { of: 'real servers of models, which the fakes of them are compared with', byDefault: 0, inFull: 1 },
  processEnds: { of: 'ways in which a process with test servers ends', byDefault: 2, inFull: 6 },
  absentServers: { of: 'test servers that are looked for and absent', byDefault: 2, inFull: 7 },
  firstFaultBodies: { of: 'bodies with faults, of which the first is told', byDefault: 2_000, inFull: 100_000 },
  dearestBodies: { of: 'shapes of bodies, searched for the dearest', byDefault: 10, inFull: 400 },
  ledgerWriters: { of: 'concurrent writers of one ledger in MongoDB', byDefault: 16, inFull: 64 },
  ledgerBursts: { of: 'changes of a thousand entries by each writer of a ledger', byDefault: 1, inFull: 3 },
  ledgerInterleavings: { of: 'random interleavings of operations on a ledger', byDefault: 3, inFull: 8 },
  countedGenerations: { of: 'generations whose documents in MongoDB are counted', byDefault: 125, inFull: 1_000 },
  damagedFiles: { of: 'damaged media files given to the cleaner, by each of two tests', byDefault: 10, inFull: 1_000 },
  wakeUpSequences: { of: 'random sequences of wake-ups among processes, on each database', byDefault: 2, inFull: 8 },
  recordedModels: { of: 'recorded models of vendors, each with one output', byDefault: 0, inFull: 123 },
  chartsOnKubernetes: { of: 'values of the chart, tried on an API server of Kubernetes', byDefault: 0, inFull: 5 },
  composedGenerations: {
    of: 'generations of the compose file, whose containers are killed, upgraded and restored',
    byDefault: 0,
    inFull: 200,
  },
  measuredWakeUps: { of: 'wake-ups whose delay is measured', byDefault: 10, inFull: 100 },
} as const satisfies Readonly<Record<string, RunSize>>;

/** Checks that `npm test` does not run at all, by the script that does. CI runs these scripts after it. */
export const OTHER_SCRIPTS: Readonly<Record<string, string>> = {
  'test:processes': 'the program in processes that are started, stopped, killed and cut off',
  'test:browser': 'the pages in a browser',
  'test:clients': 'the client libraries, clients in other languages and MCP clients',
  'test:containers': 'the image in a container engine',
};

export type SizedCheck = keyof typeof RUN_SIZES;

export const FULL_RUN_VARIABLE = 'DARKROOM_VERIFY';

/** Whether this is `npm run verify:all`. */
export function isFullRun(environment: Readonly<Record<string, string | undefined>> = process.env): boolean {
  return environment[FULL_RUN_VARIABLE] === 'all';
}

/** This process's variables without that one, because the program refuses unknown variables. */
export function programEnvironment(): NodeJS.ProcessEnv {
  const { [FULL_RUN_VARIABLE]: _, ...inherited } = process.env;
  return inherited;
}

/** How much of a check this run plays. */
export function sizeOf(check: SizedCheck): number {
  const { byDefault, inFull } = RUN_SIZES[check];
  return isFullRun() ? inFull : byDefault;
}

/** Checks that `npm test` does not run, one line each. */
export function leftOut(): readonly string[] {
  const sizes: readonly RunSize[] = Object.values(RUN_SIZES);
  const parts = sizes
    .filter(({ byDefault, inFull }) => byDefault < inFull)
    .map(({ of, byDefault, inFull }) => `${inEnglish(inFull - byDefault)} of ${inEnglish(inFull)} ${of}`);
  return [...parts, ...Object.entries(OTHER_SCRIPTS).map(([script, of]) => `${of} (npm run ${script})`)];
}

function inEnglish(count: number): string {
  return count.toLocaleString('en-US');
}
