"""Made-up topics that change, for ``nights.py``, in several vocabularies. ``UNSEEN``, ``GAME`` and ``OPS`` were run
once before the rules were changed for them.

One topic a line: its values with ``=>`` between them, oldest first, and each value's wordings with ``|`` between
them. The sentences of ``LASTING`` stay true; many look like one another or like a topic.
"""

SHOP = """
We host the storefront on Vercel | The storefront is on Vercel => The storefront has moved to Cloudflare Pages
Search is powered by Elasticsearch => We replaced Elasticsearch with Meilisearch for search | Search uses Meilisearch
Product photos are capped at 2 MB => The cap for product photos went up to 8 MB | Product photos may now be up to 8 MB
Checkout sessions last 20 minutes => Checkout sessions last 45 minutes => Checkout sessions now last an hour
Priya is on call for payments => Tom has taken over on-call for payments from Priya
The licence of the SDK is GPL-3.0 | The SDK is licensed under GPL-3.0 => The SDK was relicensed from GPL-3.0 to MIT
Free shipping starts at 50 euros => Free shipping starts at 75 euros
We package the admin app with webpack => The admin app is packaged with Vite now
Guest checkout is turned off => Guest checkout is turned on
Order mails come from SES => Order mails are sent through Mailgun instead of SES
The coupon form throws a 500 on empty input => The 500 in the coupon form on empty input has been fixed
main is protected by two approvals => main is protected by one approval
Prices are cached for 5 minutes => Prices are cached for 30 seconds
The mobile team works in Swift => The mobile team gave up Swift for Flutter
Nightly exports go to the bucket shop-exports => Nightly exports go to the bucket exports-v2
Node 18 is what production runs | Production runs Node 18 => Production was bumped to Node 22
The returns page is blocked on legal => Legal has cleared the returns page, it is no longer blocked
Feature branches are merged with squash => Feature branches are merged with rebase
"""

SHOP_LASTING = """
The storefront is written in TypeScript
Search results are paged by 24
Product videos are capped at 40 MB
Admin sessions last 8 hours
Priya reviews the payments code
Tom maintains the design tokens
The docs are licensed under CC-BY-4.0
Express shipping costs 12 euros
The storefront reads prices from the pricing service
The pricing service reads prices from Postgres
The pricing service talks to Kafka
The admin app is for staff only
Invoices are sent as PDF
Order ids are ULIDs
Carts are kept for 14 days
Wish lists are kept for 90 days
Release branches are merged without squash
The coupon form accepts one code
Prices are stored in cents
Staging runs Node 20
Exports run at 03:00
The returns page has its own stylesheet
"""

LAB = """
The centrifuge spins at 4000 rpm => The centrifuge is set to 5200 rpm
Samples are stored at -20 C | The sample freezer is kept at -20 C => Samples are stored at -80 C
Buffer A contains 150 mM NaCl => Buffer A contains 300 mM NaCl
Dr. Okafor supervises the imaging line => Dr. Lindqvist supervises the imaging line
Alignment is done with BWA => Alignment is done with minimap2
The reference genome is GRCh37 | We map to GRCh37 => We switched the reference genome to GRCh38
Quality cutoff is Q20 => The quality cutoff was raised from Q20 to Q30
Raw reads sit in /data/raw => Raw reads were moved from /data/raw to /archive/raw
The incubator alarm is broken => The incubator alarm works again
Each plate has 96 wells => Each plate has 384 wells
Statistics are run in SPSS => Statistics are run in R
The ethics approval is pending => The ethics approval was granted
The paper goes to PLOS ONE => The paper goes to eLife
Lab meeting takes place on Tuesdays => Lab meeting takes place on Thursdays => Lab meeting was shifted to Fridays
Gloves are optional in room 4 => Gloves are mandatory in room 4
The pipeline fails on paired reads => The pipeline no longer fails on paired reads
We order primers from Sigma => We order primers from IDT
The budget for sequencing is 12,000 dollars => The sequencing budget was cut to 9,000 dollars
"""

LAB_LASTING = """
The vortex runs at 2000 rpm
Antibodies are stored at 4 C
Buffer B contains 50 mM Tris
Buffer C contains 10 mM EDTA
Dr. Okafor supervises the cloning line
Variant calling is done with GATK
The reference proteome is UniProt 2024
Plots are drawn in R
Plots are exported as SVG
Raw images sit in /data/images
The incubator holds 37 C
Each rack has 48 tubes
The protocol for staining is version 7
The journal club takes place on Mondays
Room 4 has a fume hood
Room 5 has a laser
The pipeline writes BAM files
The pipeline writes a MultiQC report
We order antibodies from Abcam
The budget for travel is 3,000 dollars
Primers are named after their gene
Mouse lines are listed in mice.csv
"""

MAGAZINE = """
Issue 12 ships in March => Issue 12 ships in April
The editor in chief is Hanna => Hanna stepped down and Miguel is editor in chief
Our print run is 800 copies => Our print run is 1,200 copies
Layouts are made in InDesign => Layouts are made in Affinity Publisher
The newsletter leaves on Sundays | Newsletter day is Sunday => The newsletter leaves on Wednesdays
Authors get 10 cents a word => Authors get 14 cents a word
Covers are drawn by Yusuf => Covers are drawn by Ines => Ines no longer draws covers, Petra does
Subscriptions cost 36 pounds a year => A yearly subscription costs 42 pounds
The website runs on WordPress => The website was migrated from WordPress to Ghost
Submissions are open => Submissions are closed
We pay for stock photos => We no longer pay for stock photos
Copy deadline is the 10th => Copy deadline is the 5th
Proofs go to Bath Press => Proofs go to Calverts
The archive is behind a paywall => The archive is free for everyone, no paywall any more
Poems are limited to 40 lines => Poems are limited to 60 lines
Interviews are transcribed by hand => Interviews are transcribed with Whisper
House style is Oxford spelling => House style is American spelling
The contract with the distributor is unsigned => The contract with the distributor is signed
"""

MAGAZINE_LASTING = """
Issue 11 was about rivers
Issue 13 is about salt
The art director is Yusuf
The podcast leaves on Fridays
Photographers get 200 pounds a picture
Illustrations are drawn in Procreate
Single copies cost 9 pounds
Essays are limited to 3,000 words
Reviews are limited to 900 words
The shop runs on Shopify
The forum runs on Discourse
Interviews are recorded in stereo
House font is Garamond
The contract with the printer ends in 2028
Proofs are kept for a year
Poems are never translated
Back issues go to the university library
Hanna edits the essays
Miguel edits the poems
Titles are set in small caps
The newsletter has 4,100 readers
Subscribers in Ireland pay in euros
"""

GAME = """
Levels load from JSON files => Levels load from a SQLite file
The target frame rate is 30 fps on Switch => We target 60 fps on Switch now
Kenji composes the soundtrack => Kenji left, Aiko composes the soundtrack
Save games are written every 3 minutes | The game autosaves every 3 minutes => Save games are written every 90 seconds
The demo is English only => The demo is available in English, French and Japanese
Builds are uploaded by hand to Steam => Builds go to Steam automatically from CI
Physics runs on Box2D => Physics was ported from Box2D to Rapier
Our engine is Godot 4.2 => We upgraded the engine to Godot 4.4
Hit points max out at 100 => The maximum for hit points is 150
The boss in world 3 cannot be beaten => The boss in world 3 can be beaten since the last patch
Crash reports go to Sentry => Crash reports go to Backtrace
Multiplayer is planned for version 2 => Multiplayer was cancelled
Textures are compressed with ETC2 => Textures are compressed with ASTC
The price is 14.99 => The price is 19.99
Playtests happen on Saturday mornings => Playtests happen on Thursday evenings
The minimap sits in the top left corner => The minimap sits in the top right corner
Dialogue is voiced by the team => Dialogue is voiced by actors from Studio Nord
The console port is in the hands of Marek => Lena took the console port over from Marek
"""

GAME_LASTING = """
Levels are named after rivers
Shaders load from the assets folder
The target frame rate is 120 fps on PC
Kenji animates the boss fights
Screenshots are written as PNG
Replays are kept for 30 days
The manual is English only
Sound runs on FMOD
Physics has its own thread
The map editor is written in C#
Stamina maxes out at 40
The boss in world 2 has two phases
Analytics go to our own server
Sounds are compressed with Opus
The soundtrack costs 7.99
Stand-ups happen on Mondays
The health bar sits in the bottom left corner
Trailers are voiced by Aiko
The web port is in the hands of Noor
Subtitles can be switched off
World 1 has nine levels
World 2 has eleven levels
"""

OPS = """
Pods pull images from Docker Hub => Pods pull images from our Harbor registry
Retention for metrics is 15 days | Metrics are retained for 15 days => Metrics retention went from 15 to 60 days
Terraform state lives in the bucket tf-state-old => Terraform state was migrated to Terraform Cloud
The bastion is bastion-1.corp.example => The bastion is bastion-2.corp.example
Alerts page the platform team => Alerts page the product team that owns the service
Nodes are m5.large => Nodes are m6i.xlarge
Secrets are kept in Vault => We keep secrets in AWS Secrets Manager instead of Vault
Root login over SSH is allowed => Root login over SSH has been disabled
The DNS provider is Route 53 => DNS is with Cloudflare now
Backups run daily at 01:00 => Backups run daily at 04:30
The cluster autoscaler is flapping => Autoscaler flapping is solved
Certificates expire after 90 days and are renewed by hand => Certificates are renewed by cert-manager
Ingress is handled by nginx => Ingress is handled by Traefik
The maintenance window is Sunday 02:00 to 04:00 => The maintenance window is Saturday 22:00 to 24:00
Canary releases get 5 percent of traffic => Canary releases get 10 percent of traffic
Helm charts are versioned by date => Helm charts are versioned with semver
Farid approves production changes => Production changes are approved by Grace
Logs are shipped with Fluentd => We ship logs with Vector
"""

OPS_LASTING = """
Pods run as non-root
Pods pull config from Consul
Retention for traces is 7 days
Terraform modules live in the repository infra-modules
The VPN gateway is vpn-1.corp.example
Alerts are grouped by service
Database nodes are r5.2xlarge
Tokens for CI are kept in GitHub
Root certificates are stored offline
The mail provider is Fastmail
Snapshots run daily at 03:00
The cluster has three zones
Client certificates expire after 30 days
Egress is handled by a NAT gateway
The change freeze is in December
Blue-green releases need two approvals
Helm charts are linted in CI
Farid approves budget requests
Audit logs are shipped to the SIEM
Logs are kept for 45 days
Staging has one node
Production has nine nodes
"""

SEEN = """
The current release is 2.2.0 | The release is 2.2.0 => The current release is 2.3.0 => The current release is 2.4.1
The API listens on port 8080 => The API listens on port 9090 | The API is listening on port 9090
We use Redis for caching | Redis is used for caching => We use Valkey for caching
Billing runs on Heroku => Billing moved from Heroku to Fly | Billing was moved from Heroku to Fly
The login page crashes in Safari 17 => The crash of the login page in Safari is fixed
Alice owns the billing service => Bob owns the billing service
Log files are kept for 30 days => Log files are kept for 14 days | Log files are kept for two weeks
The database is Postgres 15 => The database is Postgres 16 | Our database is Postgres 16
Deploys need one reviewer | A deploy needs one reviewer => Deploys need two reviewers
CI runs on Jenkins => CI moved from Jenkins to GitHub Actions
The upload limit is 10 MB => The upload limit is 25 MB => The upload limit is 50 MB
Dark mode is disabled by default => Dark mode is enabled by default
The search test is flaky on Windows => The flaky search test on Windows is fixed
Staging lives at https://staging.acme.test => Staging lives at https://stage.acme.example
The default branch is master => The default branch is main
Invoices are sent on Mondays => Invoices are sent on Thursdays
We deploy with Ansible => We no longer deploy with Ansible | Ansible is no longer used to deploy
The team sits in York => The team moved to Leeds
"""

UNSEEN = """
Latest stable version: 0.9.4 => Latest stable version: 0.10.0 => Latest stable version: 1.0.0
Session tokens expire after 15 minutes => Session tokens expire after 60 minutes | Session tokens expire after one hour
The worker pool has 4 processes => The worker pool has 12 processes
Mails go out through Sendgrid => Mails were switched from Sendgrid to Postmark
Exports fail for accounts with more than 10,000 rows => Exports for accounts with more than 10,000 rows are fixed
Marta leads the mobile team => Jonas leads the mobile team | The mobile team is led by Jonas
Python 3.11 is the minimum version | The minimum version is Python 3.11 => Python 3.12 is the minimum version
The release train leaves every second Tuesday => The release train leaves every second Wednesday
Uploads are stored in eu-west-1 => Uploads are stored in eu-central-1 | Uploads are now stored in eu-central-1
The linter is flake8 | flake8 is the linter => The linter is ruff
Feature flags are allowed in the checkout => Feature flags are forbidden in the checkout
The payments webhook times out after 3 s => The payments webhook times out after 10 s
Docs are built with Sphinx => Docs are built with MkDocs
Rate limit is 100 requests a minute => Rate limit is 250 requests a minute | The rate limit is 250 requests a minute
The importer does not support UTF-16 => The importer supports UTF-16
On-call rotation: Priya, then Sam => On-call rotation: Sam, then Lena
The staging cluster is Kubernetes 1.29 => The staging cluster was upgraded from Kubernetes 1.29 to 1.31
The memory leak in the indexer is open => The memory leak in the indexer was resolved
"""

SEEN_LASTING = UNSEEN_LASTING = """
The API lives in services/api
The worker lives in services/worker
The metrics endpoint listens on port 9100
The admin panel listens on port 8443
Alice reviews database migrations
Bob reviews the frontend
We use Redis for rate limits
We use Sentry for error reports
The upload folder is var/uploads
The limit on attachments is 5 files
Access logs are kept for 90 days
The replica is Postgres 14
Migrations need a backup first
The checkout page is slow on old phones
The search index is rebuilt at 02:00
Releases are tagged with a leading v
The mobile app supports Android 10 and later
The desktop app supports Windows 11 and later
Payments are processed by Stripe
Refunds are processed by hand
Tests in tests/slow run only at night
The public docs are in English
The internal docs are in German
The team in Porto handles support
ADR 12 covers caching
ADR 13 covers retries
Customer ids begin with cus_
Order ids begin with ord_
The nightly backup takes 40 minutes
The weekly backup takes 3 hours
"""
