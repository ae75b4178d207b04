/**
 * Who may import whom. Every rule says why; `npm run boundaries` also fails when it was given no modules to look at.
 */

/** The layers of core, lowest first. A file of core that is neither a port nor named here is a use case. */
const RULES = `^core/(${[
  '(assert|boot|cancellation|errors|fields|ids|json|log|object-keys|paging|settings)',
  'access/credential',
  'catalog/(injection|model|price)',
  'credits/(account|decide)',
  'erasure/erasure',
  'generation/(decide|generation)',
  'generation/run/(next-step|run-state)',
  'idempotency/(claim|fingerprint)',
  'media/(ai-mark|image-header|media-types)',
  'people/person',
  'providers/(provider-report|provider-state|provider-use)',
  'statistics/half-hour',
  'search/words',
  'uploads/upload',
  'usage/usage',
  'webhooks/(decide|delivery|endpoint)',
].join('|')})\\.ts$`;
const PORTS = '^core/ports/';
const STATE = `^core/(${[
  '(context|memory-budget|waiting)',
  'credits/account-writer',
  'generation/(lasting-calls|queue-positions|stepwise-acceptances|thumbnail-flights|uncharged-sums|wake|watch)',
  'idempotency/(process-leases|silent-retries)',
  'providers/(provider-gates|provider-shares)',
  'statistics/outcome-counts',
  'search/removed-words',
].join('|')})\\.ts$`;

module.exports = {
  forbidden: [
    {
      name: 'core-is-pure',
      comment: 'The rules must run anywhere, in a simulation too: no package and no node: module reaches core.',
      severity: 'error',
      from: { path: '^core/' },
      to: { pathNot: '^core/' },
    },
    {
      name: 'core-rules-import-rules',
      comment: 'Records and rules can be read and tested alone: they know no port, no state and no use case.',
      severity: 'error',
      from: { path: RULES },
      to: { path: '^core/', pathNot: RULES },
    },
    {
      name: 'core-ports-import-rules',
      comment: 'An adapter that implements a port needs the records that pass through it, and nothing else of core.',
      severity: 'error',
      from: { path: PORTS },
      to: { path: '^core/', pathNot: [RULES, PORTS] },
    },
    {
      name: 'core-state-imports-no-use-case',
      comment: 'Use cases share the state of their process; state that called a use case would run in a circle.',
      severity: 'error',
      from: { path: STATE },
      to: { path: '^core/', pathNot: [RULES, PORTS, STATE] },
    },
    {
      name: 'core-has-no-cycles',
      comment: 'In core not even types may form a cycle: files are read one after the other, from the records upward.',
      severity: 'error',
      from: { path: '^core/' },
      to: { circular: true },
    },
    {
      name: 'adapters-see-core-only',
      comment: 'An adapter that knows an app or a test cannot be swapped by an operator.',
      severity: 'error',
      from: { path: '^adapters/' },
      to: { path: '^(apps|test|bench)/' },
    },
    {
      name: 'adapters-do-not-meet',
      comment:
        'Technologies are joined in apps/wiring/ and nowhere else. What all share lies beside their folders, or is the guarded HTTP client or the check of JSON Schemas; the databases of rows share their mappings in adapters/rows/, and providers share adapters/providers/shared/.',
      severity: 'error',
      from: { path: '^adapters/(providers/[^/]+|[^/]+)/', pathNot: '^adapters/model-import/' },
      to: {
        path: '^adapters/',
        pathNot: [
          '^adapters/$1/',
          '^adapters/[^/]+\\.ts$',
          '^adapters/http/',
          '^adapters/rows/',
          '^adapters/system/ajv-json-schemas\\.ts$',
          '^adapters/providers/shared/',
        ],
      },
    },
    {
      name: 'importers-know-what-entries-are-made-of',
      comment:
        'An entry is proposed by the field rules of providers, the presets of the kind openai and the rule for places, and held against schemas; nothing else of a technology is needed.',
      severity: 'error',
      from: { path: '^adapters/model-import/' },
      to: {
        path: '^adapters/',
        pathNot: [
          '^adapters/model-import/',
          '^adapters/[^/]+\\.ts$',
          '^adapters/http/',
          '^adapters/system/(ajv-json-schemas|top-level-domains)\\.ts$',
          '^adapters/providers/shared/',
          '^adapters/providers/openai/presets\\.ts$',
        ],
      },
    },
    {
      name: 'drivers-in-one-list',
      comment:
        "A technology is picked by its driver's name, so that another one is a line in the list. The machine's own are no choice.",
      severity: 'error',
      from: { path: '^apps/', pathNot: '^apps/wiring/built-in-drivers\\.ts$' },
      to: { path: '^adapters/(?!(system|media|catalog-file|http|model-import|openid|webauthn|webhooks)/)[^/]+/' },
    },
    {
      name: 'apps-do-not-know-tests',
      comment: 'What ships must not depend on what checks it.',
      severity: 'error',
      from: { path: '^(core|adapters|apps)/' },
      to: { path: '^(test|bench)/' },
    },
    {
      name: 'checkers-see-types-of-core-only',
      comment:
        'A checker that runs code of the program repeats its mistakes. That it imports types only is for test/history/imports.test.ts: types are not told apart here.',
      severity: 'error',
      from: {
        path: '^test/(history|simulation/checker)/',
        pathNot: ['\\.test\\.ts$', '/checked-service\\.ts$'],
      },
      to: { path: '^(adapters|apps|test/adapters)/' },
    },
    {
      name: 'rules-of-histories-are-shared',
      comment: 'The simulation and the fault runs use these rules: they know neither of the two.',
      severity: 'error',
      from: { path: '^test/history/', pathNot: '^test/history/recorded/.*\\.test\\.ts$' },
      to: { path: '^(test/(?!history/)|adapters/|apps/)' },
    },
    {
      name: 'inversify-at-the-edge',
      comment:
        'The container is known where things are put together; everything else takes what it needs as arguments.',
      severity: 'error',
      from: { pathNot: ['^apps/wiring/'] },
      to: { path: 'node_modules/(inversify|reflect-metadata)' },
    },
    {
      name: 'commands-load-grpc-late',
      comment:
        'Most commands use no messages of gRPC; --help would wait for their library. apps/operator/operator.ts has types alone.',
      severity: 'error',
      from: { path: '^apps/cli/', pathNot: '^apps/cli/operator/grpc-calls\\.ts' },
      to: {
        path: ['^apps/(grpc|operator)/', '^apps/cli/operator/grpc-calls\\.ts', 'node_modules/(@grpc|@bufbuild)'],
        pathNot: '^apps/operator/operator\\.ts$',
        dependencyTypesNot: ['dynamic-import'],
      },
    },
    {
      name: 'fronts-do-not-meet',
      comment:
        'Each front can be left out, and changed without a look at the others. What HTTP fronts share is in apps/http/host and apps/http/render, and for browsers in apps/http/pages.',
      severity: 'error',
      from: { path: '^apps/(http/(?!host/|pages/|render/)[^/]+|grpc)/' },
      to: { path: '^apps/(http/(?!host/|pages/|render/)[^/]+|grpc)/', pathNot: '^apps/$1/' },
    },
    {
      name: 'page-and-server-do-not-meet',
      comment:
        'The console runs in browsers, and knows of its server only the API, which it calls with the client library.',
      severity: 'error',
      from: { path: '^apps/web/src/' },
      to: { pathNot: ['^apps/web/src/', '^clients/typescript/src/', 'node_modules/(preact|@preact|lucide-preact)/'] },
    },
    {
      name: 'server-knows-no-page',
      comment: 'The server serves the files that the build has made.',
      severity: 'error',
      from: { pathNot: '^apps/web/' },
      to: { path: '^apps/web/' },
    },
    {
      name: 'host-knows-no-front',
      comment: 'The HTTP host serves whatever fronts it is given.',
      severity: 'error',
      from: { path: '^apps/http/host/' },
      to: { path: '^apps/(http/(?!host/)|grpc/)' },
    },
    {
      name: 'rendering-knows-no-front',
      comment: 'What clients see of the objects of core is the same in every front.',
      severity: 'error',
      from: { path: '^apps/http/render/' },
      to: { path: '^apps/(http/(?!render/)|grpc/)' },
    },
    {
      name: 'pages-know-no-front',
      comment: 'What pages share serves whatever front shows them.',
      severity: 'error',
      from: { path: '^apps/http/pages/' },
      to: { path: '^apps/(http/(?!host/|pages/)|grpc/)' },
    },
    {
      name: 'client-stands-alone',
      comment: 'The client library is published by itself, without packages, and runs in browsers.',
      severity: 'error',
      from: { path: '^clients/typescript/src/' },
      to: { pathNot: '^clients/typescript/src/' },
    },
    {
      name: 'server-knows-no-client',
      comment: 'Only the command line and the console are clients of the service.',
      severity: 'error',
      from: { path: '^(core|adapters|apps/(?!cli/|web/))' },
      to: { path: '^clients/' },
    },
    {
      name: 'no-cycles',
      comment: 'Two modules that need each other are one module, or a third is missing.',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'only-listed-packages',
      comment: 'A package that only happens to be installed may be gone tomorrow.',
      severity: 'error',
      from: {},
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown', 'unknown', 'undetermined'] },
    },
    {
      name: 'resolvable',
      comment: 'An import that leads nowhere.',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
  ],
  options: {
    parser: 'swc',
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.base.json' },
    doNotFollow: { path: ['node_modules', '^dist/'] },
    // The parser does not read JSX. The compiler holds those files to their own folder and to the types of
    // the client library: see `rootDir` and `references` in apps/web/tsconfig.json.
    // The types of the client library are made by the build.
    exclude: { path: ['^dist/', '\\.tsx$', '\\.d\\.ts$', '/generated/api\\.(js|ts)$'] },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
    },
  },
};
