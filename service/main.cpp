// SPDX-License-Identifier: Apache-2.0
// holdfast: the command line. Each command is parsed here and done elsewhere.
//
//   serve                          the service            service/serve.hpp
//   migrate · key · staff · audit  the keeper's commands  service/keeper.hpp
//   doctor                         the keeper's too       service/keeper.hpp
//   import · export · drill · health  over HTTP           service/cli/
//   events · webhook               over HTTP              service/cli/
//   stock · reservation            over HTTP              service/cli/stock.hpp
//   reconcile                      over HTTP              service/cli/reconcile.hpp
//   settings                       what can be set        service/config.hpp
//   completion · man               about these commands   service/cli/command_tree.hpp
#include "db/embedded_cluster.hpp"
#include "db/error.hpp"
#include "db/migrate.hpp"
#include "service/adjustments.hpp"
#include "service/cli/answer.hpp"
#include "service/cli/catalogue.hpp"
#include "service/cli/completion.hpp"
#include "service/cli/drill.hpp"
#include "service/cli/events.hpp"
#include "service/cli/health.hpp"
#include "service/cli/man_page.hpp"
#include "service/cli/reconcile.hpp"
#include "service/cli/stock.hpp"
#include "service/cli/webhooks.hpp"
#include "service/keeper.hpp"
#include "service/serve.hpp"
#include "service/version.hpp"
#include "stock/event.hpp"
#include "strategies/registry.hpp"

#include <CLI/CLI.hpp>

#include <csignal>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <optional>

namespace {

using namespace holdfast;

// The status of a command that could not be asked or answered; 1 is that of a bad answer.
constexpr int no_answer = 2;

// The type of an option as CLI11 writes it where it looks at the values itself. Here somebody else
// does, who says more about a wrong one.
template <class Names>
std::string one_of(Names const& choices, std::string const& type = "TEXT")
{
    return choices.empty() ? type : type + ":{" + CLI::detail::join(choices) + '}';
}

// The settings a command takes, and where their values come from.
class settings_of {
public:
    settings_of(CLI::App& command, setting_scope scope)
    {
        for (auto const& each : flags_of(scope, strategy_registry().names()))
            command
                .add_option_function<std::string>(
                    each.flag,
                    [this, name = each.name](std::string const& text) {
                        sources_.flags[name] = text;
                    },
                    each.sentence)
                ->type_name(one_of(each.choices, each.value));
        command.add_option("--config", sources_.config_file, "A TOML file with settings")
            ->type_name("FILE");
    }

    // Throws config_error.
    config load()
    {
        sources_.environment = holdfast_environment();
        sources_.strategies = strategy_registry().names();
        auto loaded = holdfast::load(sources_);
        log::start({.level = loaded.settings.log_level, .format = loaded.settings.log_format});
        for (auto const& warning : loaded.warnings)
            log::warning("settings", {{"reason", warning}});
        return loaded.settings;
    }

private:
    setting_sources sources_;
};

// An option whose value may come from the environment. CLI11 gives the values of the environment to
// every command, and so also to the siblings of the one that was typed; they may share `value`, and
// must not write over the flag.
CLI::Option& add_option_or_variable(CLI::App& command, std::string const& flag, std::string& value,
                                    std::string const& variable, std::string const& sentence)
{
    auto const take = [&command, &value](std::string const& text) {
        if (command.parsed())
            value = text;
    };
    return *command.add_option_function<std::string>(flag, take, sentence)->envname(variable);
}

void add_url(CLI::App& command, std::string& url, std::string const& sentence)
{
    add_option_or_variable(command, "--url", url, "HOLDFAST_URL", sentence).default_str(url);
}

// What every command over HTTP needs to know.
void add_server_options(CLI::App& command, std::string& url, std::string& key)
{
    add_url(command, url, "Where the service is");
    add_option_or_variable(command, "--key", key, "HOLDFAST_KEY", "An API key");
}

class commands {
public:
    explicit commands(CLI::App& app) : app_(app)
    {
        app_.require_subcommand(1);
        app_.set_version_flag("--version", std::string(version));
        add_serve();
        add_keeper();
        add_keys();
        add_staff();
        add_drill();
        add_import();
        add_export();
        add_events();
        add_webhook();
        add_reconcile();
        add_stock();
        add_adjust();
        add_count();
        add_reservation();
        add_small();
        add_about();
    }

    // Runs the command that was parsed. Precondition: one was.
    int run() { return run_(); }

private:
    CLI::App& add(CLI::App& parent, std::string const& name, std::string const& sentence)
    {
        return *parent.add_subcommand(name, sentence);
    }

    void on(CLI::App& command, std::function<int()> act)
    {
        command.callback([this, act = std::move(act)] { run_ = act; });
    }

    settings_of& take_settings(CLI::App& command, setting_scope scope)
    {
        return *settings_.emplace_back(std::make_unique<settings_of>(command, scope));
    }

    void add_serve()
    {
        auto& command = add(app_, "serve", "Serve the HTTP API");
        auto& settings = take_settings(command, setting_scope::service);
        command.add_flag("--sample-catalogue", serve_.with_sample_catalogue,
                         "Import a sample catalogue when there are no items yet");
        on(command, [&] {
            serve_.settings = settings.load();
            return serve(serve_);
        });
    }

    void add_keeper()
    {
        auto& migrate = add(app_, "migrate", "Bring the database's schema up to this program's");
        auto& for_migrate = take_settings(migrate, setting_scope::database);
        on(migrate, [&] { return keeper::migrate(for_migrate.load(), std::cout); });

        auto& audit = add(app_, "audit", "Check every invariant against the database");
        auto& for_audit = take_settings(audit, setting_scope::database);
        audit.add_flag("--json", is_json_, "Print JSON");
        on(audit, [&] {
            return keeper::audit(for_audit.load(),
                                 is_json_ ? keeper::output::json : keeper::output::text, std::cout);
        });

        auto& doctor = add(app_, "doctor", "Check the environment and say how to mend it");
        auto& for_doctor = take_settings(doctor, setting_scope::service);
        on(doctor, [&] { return keeper::doctor(for_doctor.load(), std::cout); });
    }

    void add_keys()
    {
        auto& key = add(app_, "key", "Make, list and revoke API keys");
        key.require_subcommand(1);

        auto& create = add(key, "create", "Make a key and print it, this once");
        auto& for_create = take_settings(create, setting_scope::database);
        create.add_option("--role", role_name_, "What it may do")
            ->required()
            ->check(CLI::IsMember({"admin", "shop", "viewer"}));
        create.add_option("--name", key_name_, "Who uses it; stands in the ledger")->required();
        on(create, [&] {
            return keeper::create_key(for_create.load(), *parse_role(role_name_), key_name_,
                                      std::cout);
        });

        auto& list = add(key, "list", "List the keys, without their secrets");
        auto& for_list = take_settings(list, setting_scope::database);
        on(list, [&] { return keeper::list_keys(for_list.load(), std::cout); });

        auto& revoke = add(key, "revoke", "Take a key out of use");
        auto& for_revoke = take_settings(revoke, setting_scope::database);
        revoke.add_option("ID", key_id_, "As `key list` shows it")->required();
        on(revoke, [&] { return keeper::revoke_key(for_revoke.load(), key_id_, std::cout); });
    }

    void add_staff()
    {
        auto& staff = add(app_, "staff", "Let people in, who sign in with a name and a password");
        staff.require_subcommand(1);
        auto& invite = add(staff, "invite", "Print a link by which somebody becomes staff");
        auto& for_invite = take_settings(invite, setting_scope::database);
        invite.add_option("--role", role_name_, "What this person may do")
            ->required()
            ->check(CLI::IsMember({"owner", "manager", "clerk", "viewer"}));
        invite.add_option("--name", invited_.name, "Who; stands in the ledger")->required();
        invited_.url = default_url;
        add_url(invite, invited_.url, "Where a browser finds the service");
        on(invite, [&] {
            invited_.role = *parse_role(role_name_);
            return keeper::invite_staff(for_invite.load(), invited_, std::cout);
        });
    }

    void add_drill()
    {
        auto& command = add(app_, "drill", "Rehearse a rush, then prove that nothing was oversold");
        drill_.url = default_url;
        add_server_options(command, drill_.url, drill_.key);
        command.add_option("--sku", drill_.sku, "What everybody wants")->required();
        command.add_option("--location", drill_.location, "Where")->capture_default_str();
        command.add_option("--requests", drill_.requests, "How many requests")->required();
        command.add_option("--clients", drill_.clients, "How many at once")->required();
        command.add_option("--quantity", drill_.quantity, "Units each")->capture_default_str();
        command.add_option_function<double>(
            "--rate", [this](double const& rate) { drill_.rate = rate; },
            "Requests per second, whatever the answers take (open loop)");
        command.add_option_function<std::int64_t>(
            "--ttl", [this](std::int64_t const& s) { drill_.ttl = std::chrono::seconds(s); },
            "Seconds the holds last");
        command.add_flag("--release", drill_.release, "Give everything back afterwards");
        command.add_flag("--json", drill_.json, "Print JSON");
        on(command, [this] { return cli::drill(drill_, std::cout, std::cerr); });
    }

    void add_import()
    {
        auto& command = add(app_, "import", "Bring a CSV file in, all of it or nothing");
        import_.url = default_url;
        add_server_options(command, import_.url, import_.key);
        command.add_option("FILE", import_.file, "The file, or - for standard input")
            ->required()
            ->type_name("FILE");
        command
            .add_option("--mode", import_mode_,
                        "set creates items and sets on hand, add adds, "
                        "count records a stocktake")
            ->required()
            ->check(CLI::IsMember({"set", "add", "count"}));
        command.add_flag("--dry-run", import_.dry_run, "Only show what would change");
        command.add_option("--key-for-retry", import_.key_for_retry,
                           "The Idempotency-Key to send instead of one of its own");
        command.add_flag("--again", import_.again, "Add the same file once more");
        command.add_flag("--json", import_.json, "Print JSON");
        on(command, [this] {
            static std::map<std::string, cli::import_mode> const modes{
                {"set", cli::import_mode::set},
                {"add", cli::import_mode::add},
                {"count", cli::import_mode::count}};
            import_.mode = modes.at(import_mode_);
            return cli::import_file(import_, std::cout, std::cerr);
        });
    }

    void add_export()
    {
        auto& command = add(app_, "export", "Write catalogue and levels as CSV");
        export_.url = default_url;
        add_server_options(command, export_.url, export_.key);
        command.add_option("--output", export_.output, "The file; standard output without it")
            ->type_name("FILE");
        on(command, [this] { return cli::export_catalogue(export_, std::cout, std::cerr); });
    }

    void add_events()
    {
        auto& events = add(app_, "events", "Look at what happens");
        events.require_subcommand(1);
        auto& tail = add(events, "tail", "Print events as they happen, until interrupted");
        tail_.url = default_url;
        add_server_options(tail, tail_.url, tail_.key);
        tail.add_option("--after", tail_.after,
                        "Begin behind the event with this id; an empty one means at the first")
            ->capture_default_str();
        tail.add_option("--sku", tail_.sku, "Only of this SKU");
        tail.add_option("--type", tail_.types, "Only these types, parted by commas")
            ->type_name(one_of(event_type_names));
        tail.add_option("--count", tail_.count, "End after so many")->check(CLI::NonNegativeNumber);
        tail.add_flag("--json", tail_.json, "Print JSON, an event a line");
        on(tail, [this] { return cli::tail_events(tail_, std::cout, std::cerr); });
    }

    void add_webhook()
    {
        auto& webhook = add(app_, "webhook", "Try webhooks out, and send again");
        webhook.require_subcommand(1);
        auto& listen = add(webhook, "listen", "Receive webhooks, verify and print them");
        listen.add_option("--listen", listen_.listen, "Where")->capture_default_str();
        add_option_or_variable(listen, "--secret", listen_.secret, "HOLDFAST_WEBHOOK_SECRET",
                               "The webhook's secret, to verify by");
        listen.add_option("--count", listen_.count, "End after so many")
            ->check(CLI::NonNegativeNumber);
        on(listen, [this] { return cli::listen_to_webhook(listen_, std::cout, std::cerr); });

        auto& resend = add(webhook, "resend", "Send a delivery once more");
        resend_.url = default_url;
        add_server_options(resend, resend_.url, resend_.key);
        resend.add_option("WEBHOOK", resend_.webhook, "Id of the webhook")->required();
        resend.add_option("DELIVERY", resend_.delivery, "Id of the delivery")->required();
        on(resend, [this] { return cli::resend_delivery(resend_, std::cout, std::cerr); });
    }

    void add_reconcile()
    {
        auto& reconcile =
            add(app_, "reconcile", "Compare Redis with PostgreSQL for items with a fast path");
        reconcile_.url = default_url;
        add_server_options(reconcile, reconcile_.url, reconcile_.key);
        reconcile.add_flag("--repair", reconcile_.repair, "Put right what differs");
        reconcile.add_flag("--json", reconcile_.json, "Print JSON");
        on(reconcile, [this] { return cli::reconcile(reconcile_, std::cout, std::cerr); });
    }

    // What every command of a clerk takes.
    void take_clerk_options(CLI::App& command)
    {
        clerk_.url = default_url;
        add_server_options(command, clerk_.url, clerk_.key);
        command.add_flag("--json", clerk_.json, "Print JSON");
    }

    void add_stock()
    {
        stock_ = &add(app_, "stock", "Look at stock and correct it");
        stock_->require_subcommand(1);
        auto& get = add(*stock_, "get", "Show an item with its levels");
        take_clerk_options(get);
        get.add_option("SKU", sku_, "Which")->required();
        on(get, [this] { return cli::show_stock(clerk_, sku_, std::cout, std::cerr); });

        auto& why = add(*stock_, "why", "Tell where the numbers of an item come from");
        take_clerk_options(why);
        why.add_option("SKU", sku_, "Which")->required();
        on(why, [this] { return cli::explain_stock(clerk_, sku_, std::cout, std::cerr); });

        auto& list = add(*stock_, "list", "List items");
        take_clerk_options(list);
        list.add_option("PART", list_.part, "A part of SKU or name");
        list.add_flag("--low", list_.low, "Only what is at low_stock_at or below");
        list.add_option("--count", list_.count, "At most so many")
            ->check(CLI::Range(1, 200))
            ->capture_default_str();
        on(list, [this] { return cli::list_stock(clerk_, list_, std::cout, std::cerr); });
    }

    void add_adjust()
    {
        auto& adjust = add(*stock_, "adjust", "Correct, receive or count units");
        take_clerk_options(adjust);
        adjust.add_option("SKU", adjust_.sku, "Which")->required();
        adjust.add_option("--by", adjust_.delta, "Units more or, below 0, fewer");
        adjust.add_option("--to", adjust_.set_to, "The new number on hand");
        adjust.add_option("--expect", adjust_.expect_on_hand,
                          "With --to: the number you saw; refused when it is another one");
        adjust.add_option("--reason", adjust_.reason, "Why; stands in the ledger")
            ->required()
            ->type_name(one_of(adjustment_reasons));
        adjust.add_option("--location", adjust_.location, "Where")->capture_default_str();
        adjust.add_option("--note", adjust_.note, "More about it");
        adjust.add_option("--reference", adjust_.reference, "What it belongs to");
        adjust.add_flag("--allow-short", adjust_.allow_short, "Go below what is reserved");
        on(adjust, [this] { return cli::adjust_stock(clerk_, adjust_, std::cout, std::cerr); });
    }

    // A stocktake is an adjustment whose reason and number are known before.
    void add_count()
    {
        auto& count = add(*stock_, "count", "Write down how many units a stocktake found");
        take_clerk_options(count);
        count.add_option("SKU", adjust_.sku, "Which")->required();
        count.add_option("UNITS", adjust_.set_to, "How many there are, those reserved included")
            ->required();
        count.add_option("--expect", adjust_.expect_on_hand,
                         "The number you saw before; refused when it is another one");
        count.add_option("--location", adjust_.location, "Where")->capture_default_str();
        count.add_option("--note", adjust_.note, "More about it");
        count.add_option("--reference", adjust_.reference, "What it belongs to");
        on(count, [this] {
            adjust_.reason = "count";
            return cli::adjust_stock(clerk_, adjust_, std::cout, std::cerr);
        });
    }

    void add_reservation()
    {
        auto& reservation = add(app_, "reservation", "Look at a reservation and release it");
        reservation.require_subcommand(1);
        auto& show = add(reservation, "show", "Show a reservation with its lines");
        take_clerk_options(show);
        show.add_option("ID", reservation_, "Which")->required();
        on(show,
           [this] { return cli::show_reservation(clerk_, reservation_, std::cout, std::cerr); });

        auto& release = add(reservation, "release", "Give the units of a hold back");
        take_clerk_options(release);
        release.add_option("ID", reservation_, "Which")->required();
        // Not bound: an empty text would not be told from none.
        release.add_option_function<std::string>(
            "--reason", [this](std::string const& text) { reason_ = text; },
            "Why; stands in the ledger");
        on(release, [this] {
            return cli::release_reservation(clerk_, reservation_, reason_, std::cout, std::cerr);
        });
    }

    void add_small()
    {
        auto& health = add(app_, "health", "Ask whether a service is ready: status 0 if it is");
        health_url_ = default_url;
        add_url(health, health_url_, "Where the service is");
        on(health, [this] { return cli::health(health_url_, std::cout); });

        auto& settings = add(app_, "settings", "Print every setting with its bounds, as Markdown");
        on(settings, [] {
            std::cout << settings_reference();
            return 0;
        });
    }

    // What is written from the commands themselves.
    void add_about()
    {
        auto& completion = add(app_, "completion", "Print a script that completes commands");
        completion.add_option("SHELL", shell_, "For which shell")
            ->required()
            ->check(CLI::IsMember({"bash", "zsh", "fish"}));
        on(completion, [this] {
            static std::map<std::string, cli::shell> const shells{
                {"bash", cli::shell::bash}, {"zsh", cli::shell::zsh}, {"fish", cli::shell::fish}};
            std::cout << cli::completion_script(shells.at(shell_), cli::read_commands(app_));
            return 0;
        });

        auto& man = add(app_, "man", "Print the manual page, for man -l -");
        on(man, [this] {
            std::cout << cli::man_page(cli::read_commands(app_), version);
            return 0;
        });
    }

    static constexpr auto default_url = "http://127.0.0.1:8080";

    CLI::App& app_;
    std::function<int()> run_;
    std::vector<std::unique_ptr<settings_of>> settings_;
    serve_options serve_;
    cli::drill_options drill_;
    cli::import_options import_;
    cli::export_options export_;
    cli::tail_options tail_;
    cli::listen_options listen_;
    cli::resend_options resend_;
    cli::reconcile_options reconcile_;
    CLI::App* stock_ = nullptr;
    cli::clerk_options clerk_;
    cli::stock_list_options list_;
    cli::adjust_options adjust_;
    std::string sku_;
    std::string reservation_;
    std::optional<std::string> reason_;
    std::string health_url_;
    std::string shell_;
    std::string import_mode_;
    std::string role_name_;
    std::string key_name_;
    keeper::new_staff invited_;
    std::int64_t key_id_ = 0;
    bool is_json_ = false;
};

// What is wrong when a word stands where a command should; CLI11 misses the command before it looks
// at the word. Nothing when there is no such word.
std::optional<std::string> unknown_command(CLI::App const& app)
{
    auto const* at = &app;
    auto path = app.get_name();
    while (!at->get_subcommands().empty()) {
        at = at->get_subcommands().front();
        path += ' ' + at->get_name();
    }
    auto const words = at->remaining();
    if (at->get_require_subcommand_min() == 0 || words.empty())
        return std::nullopt;
    constexpr std::size_t shown_max = 100;
    return path + " has no command or option " + cli::printable(words.front(), shown_max);
}

} // namespace

int main(int count, char** arguments)
{
    std::signal(SIGPIPE, SIG_IGN); // a closed pipe or connection is an error where it is written to
    CLI::App app{"Holdfast: a stock service that never oversells", "holdfast"};
    commands all(app);
    try {
        app.parse(count, arguments);
    } catch (CLI::RequiredError const& e) {
        auto const unknown = unknown_command(app);
        if (!unknown)
            return app.exit(e) == 0 ? 0 : no_answer;
        std::cerr << *unknown << "\nRun with --help for more information.\n";
        return no_answer;
    } catch (CLI::ParseError const& e) {
        return app.exit(e) == 0 ? 0 : no_answer;
    }
    try {
        return all.run();
    } catch (db::error const& e) {
        std::cerr << "holdfast: " << e.what() << "\nholdfast doctor says what is wrong with it.\n";
    } catch (std::exception const& e) {
        std::cerr << "holdfast: " << e.what() << '\n';
    }
    return no_answer;
}
