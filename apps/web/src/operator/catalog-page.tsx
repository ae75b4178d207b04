import { useState } from 'preact/hooks';
import { CircleAlert, CircleCheck, FileText } from 'lucide-preact';
import { numberText } from '../format.js';
import { Button, Copyable } from '../parts/buttons.js';
import { Icon } from '../parts/icon.js';
import { Badge, Card, Empty, Facts, Loaded, Time } from '../parts/parts.js';
import { announce } from '../parts/toasts.js';
import { change } from '../server.js';
import { focusOn, useData } from '../use-data.js';
import { type Act, ActDialog, FailureNote, useAct } from './acts.js';
import { AreaPage } from './places.js';
import { type Catalog, type CatalogCheck, type CatalogModel, counted, type Price } from './server-types.js';
import { Table } from '../parts/old-table.js';

const PATH = '/operator/catalog';

/** What was learnt of the file: by a check, or by a reload. */
interface Learnt {
  readonly check: CatalogCheck;
  readonly isReloaded: boolean;
}

/** The models that this process uses, and the file that they come from. */
export function CatalogPage() {
  const catalog = useData<Catalog>(PATH);
  const [learnt, setLearnt] = useState<Learnt>();
  const [isAsking, setAsking] = useState(false);
  const { isBusy, fault, error, run } = useAct();
  const check = (): Promise<boolean> =>
    run(async () => {
      setLearnt({ check: await change<CatalogCheck>(`${PATH}/check`), isReloaded: false });
      focusOn('file-state');
    });
  const reload = async (): Promise<string> => {
    const made = await change<CatalogCheck & { readonly is_reloaded: boolean }>(`${PATH}/reload`);
    setLearnt({ check: made, isReloaded: made.is_reloaded });
    return made.is_reloaded ? 'The catalog is reloaded.' : '';
  };
  const done = async (sentence: string): Promise<void> => {
    await catalog.reload();
    if (sentence !== '') announce(sentence);
    focusOn('file-state');
  };
  return (
    <AreaPage
      title="Catalog"
      actions={
        catalog.value === undefined ? undefined : (
          <>
            <Button isBusy={isBusy} busyText="Checking…" onClick={() => void check()}>
              Check file
            </Button>
            <Button kind="primary" onClick={() => setAsking(true)}>
              Reload…
            </Button>
          </>
        )
      }
    >
      <FailureNote fault={fault} error={error} />
      {learnt === undefined ? null : <FileState learnt={learnt} />}
      <Loaded data={catalog} what="the catalog">
        {(shown) => (
          <>
            <FileCard catalog={shown} />
            <ModelsCard models={shown.models} />
            <TextCard catalog={shown} />
            <ActDialog
              act={isAsking ? reloadAct(shown, reload) : undefined}
              close={() => setAsking(false)}
              done={done}
            />
          </>
        )}
      </Loaded>
    </AreaPage>
  );
}

function reloadAct({ file_name: name, is_only_process: isOnly }: Catalog, reload: () => Promise<string>): Act {
  const others = isOnly
    ? 'No other process runs.'
    : 'Other processes, such as workers, keep the catalog that they have until they are restarted.';
  return {
    question: `Reload ${name}?`,
    consequence: `This process uses the models and prices of the file for what is created from now on. ${others} A file with faults changes nothing.`,
    isHarmless: true,
    doIt: 'Reload catalog',
    busyText: 'Reloading…',
    action: reload,
  };
}

/** The faults of the file, or what differs from the catalog in use. */
function FileState({ learnt: { check, isReloaded } }: { readonly learnt: Learnt }) {
  const { faults, changes } = check;
  if (faults.length > 0)
    return (
      <Card id="file-state" title={`${counted(faults.length, 'fault')} in ${check.file_name}`} isFlush>
        <ul class="list small">
          {faults.map(({ line, message }) => (
            <li key={`${line} ${message}`}>
              <Icon of={CircleAlert} size={14} />
              {line === undefined ? null : <span class="num nowrap muted">{`Line ${line}`}</span>}
              <span class="grow">{message}</span>
            </li>
          ))}
        </ul>
        <p class="note-row">The catalog in use stays as it is.</p>
      </Card>
    );
  const lines = changes === undefined ? [] : changeLines(changes);
  const title = isReloaded ? 'Reloaded' : lines.length === 0 ? 'No faults, no changes' : 'No faults. A reload would';
  return (
    <Card id="file-state" title={title} note={modelsText(check)}>
      {lines.length === 0 ? (
        <p class="row small">
          <Icon of={CircleCheck} />
          The file has what this process uses.
        </p>
      ) : (
        <Facts facts={lines} />
      )}
    </Card>
  );
}

function modelsText({ file_name: name, model_count: count = 0 }: CatalogCheck): string {
  return `${name} has ${counted(count, 'model')}`;
}

function changeLines({
  added,
  removed,
  changed,
  is_reordered: isReordered,
}: NonNullable<CatalogCheck['changes']>): readonly (readonly [string, string])[] {
  const some: readonly (readonly [string, readonly string[]])[] = [
    ['Add', added],
    ['Remove', removed],
    ['Change', changed],
  ];
  const lines = some.filter(([, keys]) => keys.length > 0).map(([name, keys]) => [name, keys.join(', ')] as const);
  return isReordered ? [...lines, ['Reorder', 'The models are listed in another order.']] : lines;
}

function FileCard({ catalog }: { readonly catalog: Catalog }) {
  return (
    <Card id="file" title={catalog.file_name}>
      <Facts
        facts={[
          ['Read', <Time key="read" at={catalog.read_at} />],
          ['Models', numberText(catalog.models.length)],
          [
            'Used by',
            catalog.is_only_process ? 'This process, the only one' : 'This process; others read it themselves',
          ],
        ]}
      />
    </Card>
  );
}

function ModelsCard({ models }: { readonly models: readonly CatalogModel[] }) {
  return (
    <Card id="models" title="Models" isFlush>
      {models.length === 0 ? (
        <Empty icon={FileText} title="No models" text="Add some to the file, then reload it." />
      ) : (
        <Table labelledBy="models" columns={['Model', 'Kind', 'Price', 'Route']} numbers={['Examples']} items={models}>
          {(model) => (
            <tr key={model.model_key}>
              <th scope="row">
                <span class="named">
                  {model.name} {model.is_test ? <span class="tag">Test</span> : null}
                </span>
                <small class="mono">{model.model_key}</small>
              </th>
              <td data-name="Kind">{KINDS[model.modality] ?? model.modality}</td>
              <td data-name="Price">
                <div>
                  {priceText(model.price)}
                  <small>{boundsText(model.price)}</small>
                </div>
              </td>
              <td data-name="Route">
                <Route route={model.route} />
              </td>
              <td data-name="Examples" class="number">
                {numberText(model.example_count)}
              </td>
            </tr>
          )}
        </Table>
      )}
    </Card>
  );
}

const KINDS: Readonly<Record<string, string>> = { image: 'Image', video: 'Video' };
const MICRO = 1_000_000;

/** The terms in credits: `2 + 0.5 per second`. */
function priceText({ unit, microcredits_per_unit: perUnit, base_microcredits: base }: Price): string {
  const each = `${numberText(perUnit / MICRO)} per ${unit.replaceAll('_', ' ')}`;
  return base === 0 ? each : `${numberText(base / MICRO)} + ${each}`;
}

function boundsText({ minimum_credits: least, maximum_credits: most, version }: Price): string {
  return `${numberText(least)} to ${numberText(most)} credits, version ${version}`;
}

/** The providers in the order in which they are tried, with their share where it differs. */
function Route({ route }: { readonly route: CatalogModel['route'] }) {
  const total = route.reduce((sum, { weight }) => sum + weight, 0);
  return (
    <ul class="tags">
      {route.map(({ provider, weight, is_connected: isConnected }) => (
        <li key={provider}>
          {isConnected ? (
            <span class="tag">{route.length === 1 ? provider : `${provider} ${percents.format(weight / total)}`}</span>
          ) : (
            <Badge look="fail">{`${provider} is not configured`}</Badge>
          )}
        </li>
      ))}
    </ul>
  );
}

const percents = new Intl.NumberFormat(undefined, { style: 'percent', maximumFractionDigits: 0 });

const HIDDEN: Readonly<Record<NonNullable<Catalog['text_hidden']>, string>> = {
  large: 'The file is too large to be shown here.',
  secrets: 'The file is not shown, since something in it looks like a secret. Keys belong in the configuration.',
};

function TextCard({ catalog: { text, text_hidden: hidden } }: { readonly catalog: Catalog }) {
  return (
    <Card id="text" title="Text" note="As this process has read it">
      {text === undefined ? (
        <p class="small muted">{hidden === undefined ? '' : HIDDEN[hidden]}</p>
      ) : (
        <Copyable text={text} what="the text" />
      )}
    </Card>
  );
}
