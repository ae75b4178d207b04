/** Who may import whom. Every rule says why; `npm run boundaries` also fails when it was given no modules to look at. */
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
      name: 'adapters-see-core-only',
      comment: 'An adapter that knows an app or a test cannot be swapped by an operator.',
      severity: 'error',
      from: { path: '^adapters/' },
      to: { path: '^(apps|test|bench)/' },
    },
    {
      name: 'adapters-do-not-meet',
      comment: 'Technologies are joined in apps/wiring.ts and nowhere else.',
      severity: 'error',
      from: { path: '^adapters/(providers/[^/]+|[^/]+)/' },
      to: { path: '^adapters/', pathNot: ['^adapters/$1/', '^adapters/provide\\.ts$'] },
    },
    {
      name: 'apps-do-not-know-tests',
      comment: 'What ships must not depend on what checks it.',
      severity: 'error',
      from: { path: '^(core|adapters|apps)/' },
      to: { path: '^(test|bench)/' },
    },
    {
      name: 'inversify-at-the-edge',
      comment: 'The container is known where things are put together; everything else takes what it needs as arguments.',
      severity: 'error',
      from: { pathNot: ['^adapters/provide\\.ts$', '/module\\.ts$', '^apps/wiring\\.ts$', '/main\\.ts$'] },
      to: { path: 'node_modules/(inversify|reflect-metadata)' },
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
    exclude: { path: ['^dist/', '\\.d\\.ts$'] },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'require', 'node', 'default', 'types'] },
  },
};
