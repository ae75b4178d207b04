import { useState } from 'preact/hooks';
import { numberText, percentText } from '../format.js';
import { ask } from '../parts/ask.js';
import { Button, Copyable } from '../parts/buttons.js';
import { Icon } from '../parts/icon.js';
import { ActionFault, Badge, Card, Empty, Facts, Loaded, Time } from '../parts/parts.js';
import { type Column, Named, TableCard } from '../parts/table.js';
import { announce } from '../parts/toasts.js';
import { change } from '../server.js';
import { focusOn, useAction, useData } from '../use-data.js';
import { AreaPage, counted, type Numbers } from './area-page.js';

/** Amounts are millionths of a credit where their names say so. */
type Amount = 'microcredits_per_unit' | 'base_microcredits' | 'minimum_credits' | 'maximum_credits';

interface CatalogModel {
  readonly model_key: string;
  readonly name: string;
  readonly modality: string;
  readonly is_test: boolean;
  readonly price: Numbers<Amount> & { readonly version: string; readonly unit: string };
  readonly route: readonly { readonly provider: string; readonly weight: number; readonly is_connected: boolean }[];
  readonly example_count: number;
}

/** The catalog that the answering process uses. */
interface Catalog {
  readonly file_name: string;
  readonly read_at: string;
  readonly models: readonly CatalogModel[];
  readonly text?: string;
  readonly text_hidden?: keyof typeof HIDDEN;
  readonly is_only_process: boolean;
}

/** The file as it is now, compared with the catalog in use. */
interface CatalogCheck {
  readonly file_name: string;
  readonly faults: readonly { readonly line?: number; readonly message: string }[];
  readonly changes?: Readonly<Record<'added' | 'removed' | 'changed', readonly string[]>> & {
    readonly is_reordered: boolean;
  };
  readonly model_count?: number;
  /** Only a reload returns it. */
  readonly is_reloaded?: boolean;
}

const PATH = '/operator/catalog';

/** The models that this process uses, and the file that they come from. */
export function CatalogPage() {
  const catalog = useData<Catalog>(PATH);
  const [learnt, setLearnt] = useState<CatalogCheck>();
  const doing = useAction();
  const learn = (check: CatalogCheck): void => {
    setLearnt(check);
    focusOn('file-state');
  };
  const reload = ({ file_name: name, is_only_process: isOnly }: Catalog): void => {
    const others = isOnly
      ? 'No other process runs.'
      : 'Other processes, such as workers, keep the catalog that they have until they are restarted.';
    ask({
      title: `Reload ${name}?`,
      text: `This process uses the models and prices of the file for what is created from now on. ${others} A file with faults changes nothing.`,
      isHarmless: true,
      doIt: 'Reload catalog',
      act: () => change<CatalogCheck>(`${PATH}/reload`),
      done: async (made) => {
        await catalog.reload();
        if (made.is_reloaded === true) announce('The catalog is reloaded.');
        learn(made);
      },
    });
  };
  const shown = catalog.value;
  return (
    <AreaPage
      title="Catalog"
      actions={
        shown === undefined ? undefined : (
          <>
            <Button
              isBusy={doing.isBusy}
              busyText="Checking…"
              onClick={() => void doing.run(async () => learn(await change<CatalogCheck>(`${PATH}/check`)))}
            >
              Check file
            </Button>
            <Button kind="primary" onClick={() => reload(shown)}>
              Reload…
            </Button>
          </>
        )
      }
    >
      <ActionFault doing={doing} />
      {learnt === undefined ? null : <FileState learnt={learnt} />}
      <Loaded data={catalog} what="the catalog">
        {(value) => <Contents catalog={value} />}
      </Loaded>
    </AreaPage>
  );
}

/** The faults of the file, or what differs from the catalog in use. */
function FileState({ learnt }: { learnt: CatalogCheck }) {
  const { file_name: name, faults, changes, model_count: count = 0, is_reloaded: isReloaded } = learnt;
  if (faults.length > 0)
    return (
      <Card id="file-state" title={`${counted(faults.length, 'fault')} in ${name}`} isFlush>
        <ul class="list small">
          {faults.map(({ line, message }) => (
            <li key={`${line} ${message}`}>
              <Icon of="circle-alert" size={14} />
              {line === undefined ? null : <span class="num nowrap muted">{`Line ${line}`}</span>}
              <span class="grow">{message}</span>
            </li>
          ))}
        </ul>
        <p class="note-row">The catalog in use stays as it is.</p>
      </Card>
    );
  const lines = [
    ['Add', changes?.added.join(', ')],
    ['Remove', changes?.removed.join(', ')],
    ['Change', changes?.changed.join(', ')],
    ['Reorder', changes?.is_reordered === true ? 'The models are listed in another order.' : ''],
  ].flatMap(([line = '', text = '']) => (text === '' ? [] : [[line, text] as const]));
  const found = lines.length === 0 ? 'No faults, no changes' : 'No faults. A reload would';
  return (
    <Card
      id="file-state"
      title={isReloaded === true ? 'Reloaded' : found}
      note={`${name} has ${counted(count, 'model')}`}
    >
      {lines.length > 0 ? (
        <Facts facts={lines} />
      ) : (
        <p class="row small">
          <Icon of="circle-check" />
          The file has what this process uses.
        </p>
      )}
    </Card>
  );
}

function Contents({ catalog }: { catalog: Catalog }) {
  const { file_name: name, models, text, text_hidden: hidden } = catalog;
  return (
    <>
      <Card id="file" title={name}>
        <Facts
          facts={[
            ['Read', <Time key="read" at={catalog.read_at} />],
            ['Models', numberText(models.length)],
            [
              'Used by',
              catalog.is_only_process ? 'This process, the only one' : 'This process; others read it themselves',
            ],
          ]}
        />
      </Card>
      <TableCard
        id="models"
        title="Models"
        items={models}
        idOf={(model) => model.model_key}
        columns={COLUMNS}
        empty={<Empty icon="file-text" title="No models" text="Add some to the file, then reload it." />}
      />
      <Card id="text" title="Text" note="In use by this process">
        {text === undefined ? (
          <p class="small muted">{hidden && HIDDEN[hidden]}</p>
        ) : (
          <Copyable text={text} what="the text" />
        )}
      </Card>
    </>
  );
}

const HIDDEN = {
  large: 'The file is too large to be shown here.',
  secrets: 'The file is not shown, since something in it looks like a secret. Keys belong in the configuration.',
};

const MICRO = 1_000_000;

const COLUMNS: readonly Column<CatalogModel>[] = [
  [
    'Model',
    (model) => (
      <Named note={<span class="mono">{model.model_key}</span>}>
        {model.name} {model.is_test ? <span class="tag">Test</span> : null}
      </Named>
    ),
  ],
  ['Kind', ({ modality }) => modality.replace(/^./, (first) => first.toUpperCase())],
  [
    'Price',
    ({ price: { minimum_credits: least, maximum_credits: most, version, ...terms } }) => (
      <div>
        {terms.base_microcredits === 0 ? '' : `${numberText(terms.base_microcredits / MICRO)} + `}
        {`${numberText(terms.microcredits_per_unit / MICRO)} per ${terms.unit.replaceAll('_', ' ')}`}
        <small>{`${boundsText(least, most)}, version ${version}`}</small>
      </div>
    ),
  ],
  ['Route', ({ route }) => <Route route={route} />],
  ['Examples', (model) => numberText(model.example_count), 'number'],
];

/** The largest integer stands for no bound. */
function boundsText(least: number, most: number): string {
  if (most === Number.MAX_SAFE_INTEGER) return `At least ${numberText(least)} credits`;
  return `${numberText(least)} to ${numberText(most)} credits`;
}

/** The providers in the order in which they are tried, with their share where there are several. */
function Route({ route }: Pick<CatalogModel, 'route'>) {
  const total = route.reduce((sum, { weight }) => sum + weight, 0);
  return (
    <ul class="tags">
      {route.map(({ provider, weight, is_connected: isConnected }) => (
        <li key={provider}>
          {isConnected ? (
            <span class="tag">{route.length === 1 ? provider : `${provider} ${percentText(weight / total)}`}</span>
          ) : (
            <Badge look="fail">{`${provider} is not configured`}</Badge>
          )}
        </li>
      ))}
    </ul>
  );
}
