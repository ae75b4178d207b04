import { randomBytes } from 'node:crypto';
import { ComfyUiFake } from '../../providers/fakes/comfyui-fake.js';
import type { FakeServer } from '../../providers/fakes/fake-server.js';
import { OpenAiFake } from '../../providers/fakes/openai-fake.js';
import { ReplicateFake } from '../../providers/fakes/replicate-fake.js';
import type { Link, Toxiproxy } from '../harness/toxiproxy.js';
import type { VendorHistory } from '../../history/recorded/history.js';
import { comfyUiLog, imagesLog, predictionsLog, promptOf } from './vendor-log.js';
import { VENDOR_NAMES, type VendorName, type VendorPlace } from './vendor-models.js';
import { vendorPicture } from './vendor-picture.js';

/** The duration of a workflow node: tasks are in flight when faults begin, and when workers die. */
const NODE_MS = 150;

interface Vendor {
  readonly server: FakeServer;
  readonly link: Link;
  readonly key: string;
  readonly log: () => VendorHistory;
  readonly close: () => Promise<void>;
}

type Fake = Omit<Vendor, 'link' | 'key'> & { readonly linked?: (port: number) => void };

/** The vendors of an installation, each behind one link that all its processes share. */
export class Vendors {
  private constructor(private readonly vendors: ReadonlyMap<VendorName, Vendor>) {}

  /** `name` distinguishes their links from those of other runs. */
  static async open(name: string, toxiproxy: Toxiproxy): Promise<Vendors> {
    const vendors = new Map<VendorName, Vendor>();
    for (const vendor of VENDOR_NAMES) {
      const key = `vendor-${randomBytes(16).toString('hex')}`;
      const { linked, ...fake } = await OPEN[vendor](vendor, key);
      const link = await toxiproxy.link(`${name}-${vendor}`, fake.server.port);
      linked?.(link.port);
      vendors.set(vendor, { ...fake, link, key });
    }
    return new Vendors(vendors);
  }

  link(name: VendorName): Link {
    return this.vendor(name).link;
  }

  server(name: VendorName): FakeServer {
    return this.vendor(name).server;
  }

  get places(): Readonly<Record<VendorName, VendorPlace>> {
    const places = VENDOR_NAMES.map((name) => [name, { port: this.link(name).port, key: this.vendor(name).key }]);
    return Object.fromEntries(places) as Record<VendorName, VendorPlace>;
  }

  get secrets(): readonly { readonly name: string; readonly text: string }[] {
    return VENDOR_NAMES.map((name) => ({ name: `the key of ${name}`, text: this.vendor(name).key }));
  }

  /** Everything that they have recorded so far. */
  history(): VendorHistory {
    const logs = [...this.vendors.values()].map(({ log }) => log());
    return {
      submissions: logs.flatMap(({ submissions }) => submissions),
      notFound: logs.flatMap(({ notFound }) => notFound),
    };
  }

  async close(): Promise<void> {
    for (const { link, close } of this.vendors.values()) await Promise.all([link.remove(), close()]);
  }

  private vendor(name: VendorName): Vendor {
    const vendor = this.vendors.get(name);
    if (vendor === undefined) throw new Error(`There is no vendor ${name}.`);
    return vendor;
  }
}

const OPEN: Readonly<Record<VendorName, (name: VendorName, key: string) => Promise<Fake>>> = {
  images: openImages,
  predictions: openPredictions,
  studio: openComfyUi,
  west: openComfyUi,
  east: openComfyUi,
};

async function openImages(maker: VendorName, key: string): Promise<Fake> {
  const fake = await OpenAiFake.open('openai', key);
  fake.images.paint = (prompt) => vendorPicture(maker, prompt);
  return { server: fake.server, log: () => imagesLog(maker, fake.server.requests), close: () => fake.close() };
}

async function openPredictions(maker: VendorName, key: string): Promise<Fake> {
  const fake = await ReplicateFake.open(key);
  fake.paint = (prompt) => vendorPicture(maker, prompt);
  fake.ending = { ends: 'succeeded', files: 2 };
  return {
    server: fake.server,
    linked: (port) => {
      fake.filesAt = `http://127.0.0.1:${port}`;
    },
    log: () => predictionsLog(maker, fake.server.requests),
    close: () => fake.close(),
  };
}

async function openComfyUi(maker: VendorName, key: string): Promise<Fake> {
  const fake = await ComfyUiFake.open({ key });
  fake.queue.isStepped = true;
  fake.queue.paint = (graph) => vendorPicture(maker, promptOf(graph));
  const steps = setInterval(() => fake.queue.step(), NODE_MS);
  return {
    server: fake.server,
    log: () => comfyUiLog(maker, fake.server.requests, fake.queue.ends),
    close: async () => {
      clearInterval(steps);
      await fake.close();
    },
  };
}
